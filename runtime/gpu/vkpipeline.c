// Shader modules, pipelines, descriptor sets and queries.
#include "vkdev.h"
#include <string.h>

int vkd_module(vk_dev *d, const void *code, size_t bytes, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		size_t size;
		const void *code;
	} ci = {16, 0, 0, bytes, code};
	return d->createShaderModule(d->dev, &ci, 0, out);
}

void vkd_module_destroy(vk_dev *d, uint64_t m) { d->destroyShaderModule(d->dev, m, 0); }

int vkd_pipeline(vk_dev *d, uint64_t cache, uint64_t layout, uint64_t module, const char *entry,
	const uint32_t *ids, const uint32_t *values, uint32_t nspec, uint32_t subgroup, int full, uint64_t *out) {
	struct {
		uint32_t id, offset;
		size_t size;
	} e[64];
	if (nspec > 64) return -13;
	for (uint32_t i = 0; i < nspec; i++) {
		e[i].id = ids[i];
		e[i].offset = 4 * i;
		e[i].size = 4;
	}
	struct {
		uint32_t n;
		const void *entries;
		size_t size;
		const void *data;
	} si = {nspec, e, 4 * (size_t)nspec, values};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t size;
	} sg = {1000225001, 0, subgroup};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		struct {
			uint32_t sType;
			const void *next;
			uint32_t flags, stage;
			uint64_t module;
			const char *name;
			const void *spec;
		} stage;
		uint64_t layout, base;
		int32_t baseIndex;
	} ci = {29, 0, 0, {18, subgroup ? &sg : 0, full ? 2 : 0, 0x20, module, entry, nspec ? &si : 0}, layout, 0,
		-1};
	return d->createComputePipelines(d->dev, cache, 1, &ci, 0, out);
}

void vkd_pipeline_destroy(vk_dev *d, uint64_t p) { d->destroyPipeline(d->dev, p, 0); }

int vkd_cache(vk_dev *d, const void *data, size_t bytes, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags;
		size_t size;
		const void *data;
	} ci = {17, 0, 0, bytes, data};
	return d->createPipelineCache(d->dev, &ci, 0, out);
}

int vkd_cache_data(vk_dev *d, uint64_t cache, size_t *bytes, void *data) {
	return d->getPipelineCacheData(d->dev, cache, bytes, data);
}

void vkd_cache_destroy(vk_dev *d, uint64_t c) { d->destroyPipelineCache(d->dev, c, 0); }

int vkd_layout(vk_dev *d, uint32_t n, uint32_t push, uint64_t *set, uint64_t *layout) {
	struct {
		uint32_t binding, type, count, stages;
		const void *samplers;
	} b[16];
	if (n > 16) return -13;
	memset(b, 0, sizeof b);
	for (uint32_t i = 0; i < n; i++) {
		b[i].binding = i;
		b[i].type = 7; // storage buffer
		b[i].count = 1;
		b[i].stages = 0x20;
	}
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, n;
		const void *b;
	} lc = {32, 0, 0, n, b};
	int r = d->createDescriptorSetLayout(d->dev, &lc, 0, set);
	if (r) return r;
	struct {
		uint32_t stages, offset, size;
	} pr = {0x20, 0, push};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, n;
		const void *sets;
		uint32_t np;
		const void *pr;
	} pc = {30, 0, 0, 1, set, 1, &pr};
	return d->createPipelineLayout(d->dev, &pc, 0, layout);
}

void vkd_layout_destroy(vk_dev *d, uint64_t set, uint64_t layout) {
	if (layout) d->destroyPipelineLayout(d->dev, layout, 0);
	if (set) d->destroyDescriptorSetLayout(d->dev, set, 0);
}

int vkd_sets_pool(vk_dev *d, uint32_t sets, uint32_t descriptors, uint64_t *out) {
	struct {
		uint32_t type, count;
	} ps = {7, descriptors};
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, maxSets, n;
		const void *sizes;
	} ci = {33, 0, 0, sets, 1, &ps};
	return d->createDescriptorPool(d->dev, &ci, 0, out);
}

void vkd_sets_pool_destroy(vk_dev *d, uint64_t pool) { d->destroyDescriptorPool(d->dev, pool, 0); }

int vkd_sets(vk_dev *d, uint64_t pool, uint32_t n, const uint64_t *layouts, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint64_t pool;
		uint32_t n;
		const void *layouts;
	} ai = {34, 0, pool, n, layouts};
	return d->allocateDescriptorSets(d->dev, &ai, out);
}

int vkd_sets_write(vk_dev *d, uint32_t n, const uint64_t *sets, const uint32_t *counts, const uint64_t *buf,
	const uint64_t *off, const uint64_t *range) {
	struct {
		uint64_t b, o, r;
	} bi[16];
	struct {
		uint32_t sType;
		const void *next;
		uint64_t set;
		uint32_t binding, elem, count, type;
		const void *img, *buf, *tex;
	} w;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = counts[i];
		if (m > 16) return -13;
		for (uint32_t j = 0; j < m; j++) {
			bi[j].b = buf[j];
			bi[j].o = off[j];
			bi[j].r = range[j];
		}
		memset(&w, 0, sizeof w);
		w.sType = 35;
		w.set = sets[i];
		w.count = m; // consecutive bindings of one type: a write runs on over them
		w.type = 7;
		w.buf = bi;
		if (m) d->updateDescriptorSets(d->dev, 1, &w, 0, 0);
		buf += m;
		off += m;
		range += m;
	}
	return 0;
}

int vkd_queries(vk_dev *d, uint32_t n, uint64_t *out) {
	struct {
		uint32_t sType;
		const void *next;
		uint32_t flags, type, n, stats;
	} ci = {11, 0, 0, 2, n, 0};
	return d->createQueryPool(d->dev, &ci, 0, out);
}

void vkd_queries_destroy(vk_dev *d, uint64_t pool) { d->destroyQueryPool(d->dev, pool, 0); }

int vkd_queries_get(vk_dev *d, uint64_t pool, uint32_t n, uint64_t *out) {
	return d->getQueryPoolResults(d->dev, pool, 0, n, 8 * (size_t)n, out, 8, 1 | 2); // 64 bit, wait
}
