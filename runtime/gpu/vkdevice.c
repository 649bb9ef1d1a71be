// Logical device: entry points, memory, fences, command buffers and their recording.
#include "vkdev.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *load(vk_dev *d, shim_fn (*get)(void *, const char *)) {
#define GET(f, name)                                                                                         \
	if (!(*(shim_fn *)&d->f = get(d->dev, name))) return name
	VK_ENTRY_POINTS(GET);
#undef GET
	*(shim_fn *)&d->getBufferDeviceAddress = get(d->dev, "vkGetBufferDeviceAddress");
	return 0;
}

int vkd_open(void *gipa, void *inst, void *pd, void *features2, uint32_t family, const char *names,
	uint32_t nExt, vk_dev **out, const char **missing) {
	shim_fn (*g)(void *, const char *) = (shim_fn (*)(void *, const char *))gipa;
	int (*create)(void *, const void *, const void *, void **) =
		(int (*)(void *, const void *, const void *, void **))g(inst, "vkCreateDevice");
	shim_fn (*get)(void *, const char *) = (shim_fn (*)(void *, const char *))g(inst, "vkGetDeviceProcAddr");
	const char *ext[32];
	if (!create || !get || nExt > 32) return -3;
	for (uint32_t i = 0; i < nExt; i++) {
		ext[i] = names;
		names += strlen(names) + 1;
	}
	float prio = 1;
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, family, n;
		const float *prio;
	} qi = {2, 0, 0, family, 1, &prio};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, nQueue;
		const void *queues;
		uint32_t nLayer;
		const char **layers;
		uint32_t nExt;
		const char **exts;
		const void *features;
	} ci = {3, features2, 0, 1, &qi, 0, 0, nExt, ext, 0};
	void *dev = 0;
	int r = create(pd, &ci, 0, &dev);
	if (r) return r;
	vk_dev *d = calloc(1, sizeof *d);
	if (!d) abort();
	d->dev = dev;
	*missing = load(d, get);
	if (*missing) {
		if (d->destroyDevice) d->destroyDevice(dev, 0);
		free(d);
		return -7;
	}
	d->getDeviceQueue(dev, family, 0, &d->queue);
	*out = d;
	return 0;
}

void vkd_close(vk_dev *d) {
	d->destroyDevice(d->dev, 0);
	free(d);
}

int vkd_idle(vk_dev *d) { return d->deviceWaitIdle(d->dev); }

int vkd_buffer(vk_dev *d, uint64_t size, uint32_t usage, uint64_t *buf, uint64_t *need, uint64_t *align,
	uint32_t *types) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		uint64_t size;
		uint32_t usage, sharing, n;
		const void *families;
	} ci = {12, 0, 0, size, usage, 0, 0, 0};
	struct {
		uint64_t size, align;
		uint32_t types;
	} mr;
	int r = d->createBuffer(d->dev, &ci, 0, buf);
	if (r) return r;
	d->getBufferMemoryRequirements(d->dev, *buf, &mr);
	*need = mr.size;
	*align = mr.align;
	*types = mr.types;
	return 0;
}

int vkd_memory(vk_dev *d, uint64_t size, uint32_t type, int address, uint64_t *mem) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, mask;
	} fl = {1000060000, 0, 2, 0};
	struct {
		uint32_t sType;
		const void *next;
		uint64_t size;
		uint32_t type;
	} ai = {5, address ? &fl : 0, size, type};
	return d->allocateMemory(d->dev, &ai, 0, mem);
}

int vkd_bind(vk_dev *d, uint64_t buf, uint64_t mem) { return d->bindBufferMemory(d->dev, buf, mem, 0); }

int vkd_map(vk_dev *d, uint64_t mem, uint64_t size, void **out) {
	return d->mapMemory(d->dev, mem, 0, size, 0, out);
}

void vkd_free(vk_dev *d, uint64_t buf, uint64_t mem) {
	if (buf) d->destroyBuffer(d->dev, buf, 0);
	if (mem) d->freeMemory(d->dev, mem, 0); // also unmaps
}

uint64_t vkd_address(vk_dev *d, uint64_t buf) {
	struct {
		uint32_t sType;
		const void *next;
		uint64_t buf;
	} bi = {1000244001, 0, buf};
	return d->getBufferDeviceAddress ? d->getBufferDeviceAddress(d->dev, &bi) : 0;
}

int vkd_fence(vk_dev *d, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
	} ci = {8, 0, 0};
	return d->createFence(d->dev, &ci, 0, out);
}

void vkd_fence_destroy(vk_dev *d, uint64_t f) { d->destroyFence(d->dev, f, 0); }
int vkd_fence_status(vk_dev *d, uint64_t f) { return d->getFenceStatus(d->dev, f); }
int vkd_fence_reset(vk_dev *d, uint64_t f) { return d->resetFences(d->dev, 1, &f); }

static uint64_t now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int vkd_wait(vk_dev *d, uint64_t f, uint32_t spin, uint64_t timeout) {
	if (spin) { // a sleeping wait costs some 20 us of wake-up, half of a short submission
		uint64_t end = now_us() + spin;
		do {
			int r = d->getFenceStatus(d->dev, f);
			if (r != 1) return r; // 1 = VK_NOT_READY
		} while (now_us() < end);
	}
	return d->waitForFences(d->dev, 1, &f, 1, timeout);
}

int vkd_pool(vk_dev *d, uint32_t family, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, family;
	} ci = {39, 0, 2, family}; // 2 = buffers reset singly
	return d->createCommandPool(d->dev, &ci, 0, out);
}

void vkd_pool_destroy(vk_dev *d, uint64_t pool) { d->destroyCommandPool(d->dev, pool, 0); }

int vkd_cmds(vk_dev *d, uint64_t pool, uint32_t n, void **out) {
	struct {
		uint32_t sType;
		const void *next;
		uint64_t pool;
		uint32_t level, n;
	} ai = {40, 0, pool, 0, n};
	return d->allocateCommandBuffers(d->dev, &ai, out);
}

void vkd_cmds_free(vk_dev *d, uint64_t pool, uint32_t n, void **cbs) {
	d->freeCommandBuffers(d->dev, pool, n, cbs);
}

int vkd_submit(vk_dev *d, void *cb, uint64_t fence) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t nWait;
		const void *waits, *stages;
		uint32_t nCb;
		void *const *cbs;
		uint32_t nSig;
		const void *sigs;
	} si = {4, 0, 0, 0, 0, 1, &cb, 0, 0};
	return d->queueSubmit(d->queue, 1, &si, fence);
}

static void barrier(vk_dev *d, void *cb, uint64_t stages, uint64_t access) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t src, dst;
	} mb = {46, 0, (uint32_t)access, (uint32_t)(access >> 32)};
	d->cmdPipelineBarrier(cb, (uint32_t)stages, (uint32_t)(stages >> 32), 0, 1, &mb, 0, 0, 0, 0);
}

static void copy(vk_dev *d, void *cb, const uint64_t *c) {
	struct {
		uint64_t src, dst, size;
	} r = {c[2], c[3], c[4]};
	d->cmdCopyBuffer(cb, c[0], c[1], 1, &r);
}

static const uint64_t *dispatch(vk_dev *d, void *cb, const uint64_t *c) {
	uint64_t layout = c[0], set = c[1];
	uint32_t bytes = (uint32_t)c[2];
	if (set) d->cmdBindDescriptorSets(cb, 1, layout, 0, 1, &set, 0, 0);
	if (bytes) d->cmdPushConstants(cb, layout, 0x20, 0, bytes, c + 6);
	d->cmdDispatch(cb, (uint32_t)c[3], (uint32_t)c[4], (uint32_t)c[5]);
	return c + 6 + (bytes + 7) / 8;
}

int vkd_record(vk_dev *d, void *cb, int once, const uint64_t *code, size_t words) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		const void *inherit;
	} bi = {42, 0, once ? 1 : 0, 0};
	int r = d->beginCommandBuffer(cb, &bi);
	if (r) return r;
	const uint64_t *c = code, *end = code + words;
	while (c < end) {
		switch (*c++) {
		case VKOP_PIPELINE:
			d->cmdBindPipeline(cb, 1, c[0]);
			c += 1;
			break;
		case VKOP_DISPATCH: c = dispatch(d, cb, c); break;
		case VKOP_BARRIER:
			barrier(d, cb, c[0], c[1]);
			c += 2;
			break;
		case VKOP_COPY:
			copy(d, cb, c);
			c += 5;
			break;
		case VKOP_FILL:
			d->cmdFillBuffer(cb, c[0], c[1], c[2], (uint32_t)c[3]);
			c += 4;
			break;
		case VKOP_STAMP:
			d->cmdWriteTimestamp(cb, 0x2000, c[0], (uint32_t)c[1]);
			c += 2;
			break; // bottom of pipe
		case VKOP_RESET:
			d->cmdResetQueryPool(cb, c[0], (uint32_t)c[1], (uint32_t)c[2]);
			c += 3;
			break;
		default: return -13;
		}
	}
	return d->endCommandBuffer(cb);
}
