// Loader, instance, physical devices and the message sink of the validation layer.
#include "vkshim.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*fn_t)(void);
typedef fn_t (*gipa_t)(void *inst, const char *name);

static fn_t get(void *gipa, void *inst, const char *name) { return ((gipa_t)gipa)(inst, name); }

void *vkl_load(void) {
	void *h = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!h) h = dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);
	return h ? dlsym(h, "vkGetInstanceProcAddr") : 0;
}

const char *vkl_error(void) {
	const char *e = dlerror();
	return e ? e : "no vkGetInstanceProcAddr";
}

vk_chain *vkc_new(uint32_t sType, void *next) {
	vk_chain *c = calloc(1, sizeof *c);
	if (!c) abort();
	c->sType = sType;
	c->pNext = next;
	return c;
}

uint32_t vki_version(void *gipa) {
	int (*f)(uint32_t *) = (int (*)(uint32_t *))get(gipa, 0, "vkEnumerateInstanceVersion");
	uint32_t v = 1u << 22; // a loader without the function is 1.0
	if (f) f(&v);
	return v;
}

// Both VkExtensionProperties (260 bytes) and VkLayerProperties (520) begin with char name[256].
static int join(const char *p, uint32_t n, size_t stride, char *buf, size_t cap) {
	size_t at = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t l = strnlen(p + i * stride, 256);
		if (at + l + 2 > cap) return -1;
		memcpy(buf + at, p + i * stride, l);
		at += l;
		buf[at++] = '\n';
	}
	buf[at] = 0;
	return 0;
}

int vki_names(void *gipa, int ext, const char *layer, char *buf, size_t cap) {
	uint32_t n = 0;
	int r;
	size_t stride = ext ? 260 : 520;
	int (*fe)(const char *, uint32_t *, void *) =
		(int (*)(const char *, uint32_t *, void *))get(gipa, 0, "vkEnumerateInstanceExtensionProperties");
	int (*fl)(uint32_t *, void *) =
		(int (*)(uint32_t *, void *))get(gipa, 0, "vkEnumerateInstanceLayerProperties");
	if (!fe || !fl) return -3;
	const char *of = layer && *layer ? layer : 0;
	r = ext ? fe(of, &n, 0) : fl(&n, 0);
	if (r) return r;
	char *p = calloc(n + 1, stride);
	if (!p) return -1;
	r = ext ? fe(of, &n, p) : fl(&n, p);
	if (r >= 0) r = join(p, n, stride, buf, cap);
	free(p);
	return r;
}

int vkp_extensions(void *gipa, void *inst, void *pd, char *buf, size_t cap) {
	int (*f)(void *, const char *, uint32_t *, void *) = (int (*)(
		void *, const char *, uint32_t *, void *))get(gipa, inst, "vkEnumerateDeviceExtensionProperties");
	uint32_t n = 0;
	if (!f) return -3;
	int r = f(pd, 0, &n, 0);
	if (r) return r;
	char *p = calloc(n + 1, 260);
	if (!p) return -1;
	r = f(pd, 0, &n, p);
	if (r >= 0) r = join(p, n, 260, buf, cap);
	free(p);
	return r;
}

struct vk_sink {
	pthread_mutex_t mu;
	char *text;
	size_t len, cap;
};

enum { SINK_LIMIT = 1 << 20 }; // later messages are dropped; the first ones tell the cause

typedef struct {
	uint32_t sType;
	const void *next;
	uint32_t flags;
	const char *idName;
	int32_t id;
	const char *message;
} callback_data;

static uint32_t on_message(uint32_t severity, uint32_t types, const callback_data *m, void *user) {
	vk_sink *s = user;
	(void)types;
	size_t l = strlen(m->message) + 2;
	pthread_mutex_lock(&s->mu);
	if (s->len + l <= SINK_LIMIT) {
		if (s->len + l > s->cap) {
			size_t cap = s->cap ? 2 * s->cap : 4096;
			while (cap < s->len + l) cap *= 2;
			char *t = realloc(s->text, cap);
			if (!t) abort();
			s->text = t;
			s->cap = cap;
		}
		s->text[s->len] = severity >= 0x1000 ? 'E' : 'W';
		memcpy(s->text + s->len + 1, m->message, l - 1);
		s->len += l;
	}
	pthread_mutex_unlock(&s->mu);
	return 0;
}

vk_sink *vks_new(void) {
	vk_sink *s = calloc(1, sizeof *s);
	if (!s) abort();
	pthread_mutex_init(&s->mu, 0);
	return s;
}

void vks_free(vk_sink *s) {
	pthread_mutex_destroy(&s->mu);
	free(s->text);
	free(s);
}

size_t vks_take(vk_sink *s, char *buf, size_t cap) {
	pthread_mutex_lock(&s->mu);
	size_t n = s->len < cap ? s->len : cap;
	if (n) memcpy(buf, s->text, n);
	s->len = 0;
	pthread_mutex_unlock(&s->mu);
	return n;
}

typedef struct {
	uint32_t sType;
	const void *next;
	uint32_t flags, severity, types;
	uint32_t (*call)(uint32_t, uint32_t, const callback_data *, void *);
	void *user;
} messenger_info;

static messenger_info messenger(vk_sink *s) {
	messenger_info m = {1000128004, 0, 0, 0x1100, 3, on_message, s};
	return m;
}

// Fills out with pointers to the n NUL-terminated names that follow one another at names; returns the end.
static const char *split(const char *names, uint32_t n, const char **out) {
	for (uint32_t i = 0; i < n; i++) {
		out[i] = names;
		names += strlen(names) + 1;
	}
	return names;
}

int vki_create(
	void *gipa, uint32_t api, const char *names, uint32_t nExt, uint32_t nLayer, vk_sink *sink, void **inst) {
	int (*f)(const void *, const void *, void **) =
		(int (*)(const void *, const void *, void **))get(gipa, 0, "vkCreateInstance");
	const char *ext[16], *layer[4];
	if (!f || nExt > 16 || nLayer > 4) return -3;
	split(split(names, nExt, ext), nLayer, layer);
	messenger_info mi = messenger(sink);
	uint32_t on[1] = {4}; // synchronization validation
	struct {
		uint32_t sType;
		const void *next;
		uint32_t n;
		const uint32_t *on;
		uint32_t m;
		const uint32_t *off;
	} vf = {1000247000, &mi, 1, on, 0, 0};
	struct {
		uint32_t sType;
		const void *next;
		const char *app;
		uint32_t appVersion;
		const char *engine;
		uint32_t engineVersion, api;
	} ai = {0, 0, "vulcast", 1, "vulcast", 1, api};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		const void *app;
		uint32_t nLayer;
		const char **layers;
		uint32_t nExt;
		const char **exts;
	} ci = {1, sink ? &vf : 0, 0, &ai, nLayer, layer, nExt, ext};
	return f(&ci, 0, inst);
}

int vki_messenger(void *gipa, void *inst, vk_sink *sink, uint64_t *out) {
	int (*f)(void *, const void *, const void *, uint64_t *) = (int (*)(
		void *, const void *, const void *, uint64_t *))get(gipa, inst, "vkCreateDebugUtilsMessengerEXT");
	if (!f) return -7;
	messenger_info mi = messenger(sink);
	return f(inst, &mi, 0, out);
}

void vki_destroy(void *gipa, void *inst, uint64_t m) {
	void (*fm)(void *, uint64_t, const void *) =
		(void (*)(void *, uint64_t, const void *))get(gipa, inst, "vkDestroyDebugUtilsMessengerEXT");
	void (*f)(void *, const void *) = (void (*)(void *, const void *))get(gipa, inst, "vkDestroyInstance");
	if (m && fm) fm(inst, m, 0);
	if (f) f(inst, 0);
}

int vki_devices(void *gipa, void *inst, uint32_t *n, void **out) {
	int (*f)(void *, uint32_t *, void **) =
		(int (*)(void *, uint32_t *, void **))get(gipa, inst, "vkEnumeratePhysicalDevices");
	return f ? f(inst, n, out) : -3;
}

int vkp_get(void *gipa, void *inst, void *pd, const char *name, void *out) {
	void (*f)(void *, void *) = (void (*)(void *, void *))get(gipa, inst, name);
	if (!f) return -7;
	f(pd, out);
	return 0;
}

int vkp_list(void *gipa, void *inst, void *pd, const char *name, uint32_t sType, uint32_t stride, uint32_t *n,
	uint8_t **out) {
	int (*f)(void *, uint32_t *, void *) = (int (*)(void *, uint32_t *, void *))get(gipa, inst, name);
	*n = 0;
	*out = 0;
	if (!f) return -7;
	int r = f(pd, n, 0);
	if (r) return r;
	*out = calloc(*n + 1, stride);
	if (!*out) return -1;
	for (uint32_t i = 0; i < *n; i++) *(uint32_t *)(*out + (size_t)i * stride) = sType;
	return f(pd, n, *out);
}
