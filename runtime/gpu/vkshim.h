// The C side of runtime/gpu: every Vulkan call that creates, records or submits.
//
// Why C: vulkan-go copies struct arguments to C memory that only a finalizer on a dead local keeps alive,
// so a garbage collection during the call frees what the driver is reading. Here each struct is built on
// the C stack from flat arguments. The structs are laid out by hand for the 64-bit ABI, so no Vulkan header
// is needed. Non-dispatchable handles are uint64_t; dispatchable ones are void *.
#ifndef VULCAST_VKSHIM_H
#define VULCAST_VKSHIM_H
#include <stddef.h>
#include <stdint.h>

// A feature or property struct of unknown type: sType, pNext, then 32-bit words.
typedef struct vk_chain {
	uint32_t sType, pad;
	void *pNext;
	uint32_t v[512];
} vk_chain;

// Messages of the validation layer, collected by the debug callback.
typedef struct vk_sink vk_sink;
// One logical device: its handle, its queue and its entry points.
typedef struct vk_dev vk_dev;

// vkl_load opens the Vulkan loader and returns vkGetInstanceProcAddr, or NULL.
void *vkl_load(void);
const char *vkl_error(void);

vk_chain *vkc_new(uint32_t sType, void *next);
uint32_t vki_version(void *gipa);
// Names of the instance layers (ext = 0) or of the extensions of one layer or of the loader ("" = loader),
// joined by newlines into buf; returns 0 or a VkResult.
int vki_names(void *gipa, int ext, const char *layer, char *buf, size_t cap);
// The same for the extensions of a physical device.
int vkp_extensions(void *gipa, void *inst, void *pd, char *buf, size_t cap);
int vki_create(
	void *gipa, uint32_t api, const char *names, uint32_t nExt, uint32_t nLayer, vk_sink *sink, void **inst);
int vki_messenger(void *gipa, void *inst, vk_sink *sink, uint64_t *out);
void vki_destroy(void *gipa, void *inst, uint64_t messenger);
int vki_devices(void *gipa, void *inst, uint32_t *n, void **out);
// vkp_get calls a vkGetPhysicalDeviceX2(device, out) function by name.
int vkp_get(void *gipa, void *inst, void *pd, const char *name, void *out);
// vkp_list calls an array query by name and returns n elements of stride bytes, each with sType set; free()
// them.
int vkp_list(void *gipa, void *inst, void *pd, const char *name, uint32_t sType, uint32_t stride, uint32_t *n,
	uint8_t **out);

vk_sink *vks_new(void);
void vks_free(vk_sink *s);
// vks_take copies up to cap bytes of messages, each "E" or "W", text, NUL, and empties the sink.
size_t vks_take(vk_sink *s, char *buf, size_t cap);

int vkd_open(void *gipa, void *inst, void *pd, void *features2, uint32_t family, const char *names,
	uint32_t nExt, vk_dev **out, const char **missing);
void vkd_close(vk_dev *d);
int vkd_idle(vk_dev *d);

int vkd_buffer(vk_dev *d, uint64_t size, uint32_t usage, uint64_t *buf, uint64_t *need, uint64_t *align,
	uint32_t *types);
int vkd_memory(vk_dev *d, uint64_t size, uint32_t type, int address, uint64_t *mem);
int vkd_bind(vk_dev *d, uint64_t buf, uint64_t mem);
int vkd_map(vk_dev *d, uint64_t mem, uint64_t size, void **out);
void vkd_free(vk_dev *d, uint64_t buf, uint64_t mem);
uint64_t vkd_address(vk_dev *d, uint64_t buf);

int vkd_fence(vk_dev *d, uint64_t *out);
void vkd_fence_destroy(vk_dev *d, uint64_t f);
// vkd_wait waits for a fence: it polls for spin microseconds, then sleeps; timeout in nanoseconds.
int vkd_wait(vk_dev *d, uint64_t f, uint32_t spin, uint64_t timeout);
int vkd_fence_status(vk_dev *d, uint64_t f);
int vkd_fence_reset(vk_dev *d, uint64_t f);

int vkd_pool(vk_dev *d, uint32_t family, uint64_t *out);
void vkd_pool_destroy(vk_dev *d, uint64_t pool);
int vkd_cmds(vk_dev *d, uint64_t pool, uint32_t n, void **out);
void vkd_cmds_free(vk_dev *d, uint64_t pool, uint32_t n, void **cbs);
int vkd_submit(vk_dev *d, void *cb, uint64_t fence);

// Opcodes of the recording stream of vkd_record, 64-bit words each.
enum {
	VKOP_PIPELINE = 1, // pipeline
	VKOP_DISPATCH,     // layout, set (0 = none), push bytes, x, y, z, push data (8 bytes a word)
	VKOP_BARRIER,      // srcStage | dstStage<<32, srcAccess | dstAccess<<32
	VKOP_COPY,         // src, dst, srcOffset, dstOffset, size
	VKOP_FILL,         // buffer, offset, size, word
	VKOP_STAMP,        // pool, query
	VKOP_RESET,        // pool, first, count
};
int vkd_record(vk_dev *d, void *cb, int once, const uint64_t *code, size_t words);

int vkd_module(vk_dev *d, const void *code, size_t bytes, uint64_t *out);
void vkd_module_destroy(vk_dev *d, uint64_t m);
int vkd_pipeline(vk_dev *d, uint64_t cache, uint64_t layout, uint64_t module, const char *entry,
	const uint32_t *ids, const uint32_t *values, uint32_t nspec, uint32_t subgroup, int full, uint64_t *out);
void vkd_pipeline_destroy(vk_dev *d, uint64_t p);
int vkd_cache(vk_dev *d, const void *data, size_t bytes, uint64_t *out);
int vkd_cache_data(vk_dev *d, uint64_t cache, size_t *bytes, void *data);
void vkd_cache_destroy(vk_dev *d, uint64_t c);

int vkd_layout(vk_dev *d, uint32_t n, uint32_t push, uint64_t *set, uint64_t *layout);
void vkd_layout_destroy(vk_dev *d, uint64_t set, uint64_t layout);
int vkd_sets_pool(vk_dev *d, uint32_t sets, uint32_t descriptors, uint64_t *out);
void vkd_sets_pool_destroy(vk_dev *d, uint64_t pool);
int vkd_sets(vk_dev *d, uint64_t pool, uint32_t n, const uint64_t *layouts, uint64_t *out);
// vkd_sets_write fills n sets; counts[i] storage buffers each, taken one after the other from buf, off,
// range.
int vkd_sets_write(vk_dev *d, uint32_t n, const uint64_t *sets, const uint32_t *counts, const uint64_t *buf,
	const uint64_t *off, const uint64_t *range);

int vkd_queries(vk_dev *d, uint32_t n, uint64_t *out);
void vkd_queries_destroy(vk_dev *d, uint64_t pool);
int vkd_queries_get(vk_dev *d, uint64_t pool, uint32_t n, uint64_t *out);
#endif
