// The entry points of a logical device, shared by vkdevice.c and vkpipeline.c.
#ifndef VULCAST_VKDEV_H
#define VULCAST_VKDEV_H
#include "vkshim.h"

typedef void (*shim_fn)(void);

#define VK_ENTRY_POINTS(GET)                                                                                 \
	GET(destroyDevice, "vkDestroyDevice");                                                                   \
	GET(getDeviceQueue, "vkGetDeviceQueue");                                                                 \
	GET(deviceWaitIdle, "vkDeviceWaitIdle");                                                                 \
	GET(createBuffer, "vkCreateBuffer");                                                                     \
	GET(destroyBuffer, "vkDestroyBuffer");                                                                   \
	GET(getBufferMemoryRequirements, "vkGetBufferMemoryRequirements");                                       \
	GET(allocateMemory, "vkAllocateMemory");                                                                 \
	GET(freeMemory, "vkFreeMemory");                                                                         \
	GET(bindBufferMemory, "vkBindBufferMemory");                                                             \
	GET(mapMemory, "vkMapMemory");                                                                           \
	GET(createFence, "vkCreateFence");                                                                       \
	GET(destroyFence, "vkDestroyFence");                                                                     \
	GET(getFenceStatus, "vkGetFenceStatus");                                                                 \
	GET(resetFences, "vkResetFences");                                                                       \
	GET(waitForFences, "vkWaitForFences");                                                                   \
	GET(createCommandPool, "vkCreateCommandPool");                                                           \
	GET(destroyCommandPool, "vkDestroyCommandPool");                                                         \
	GET(allocateCommandBuffers, "vkAllocateCommandBuffers");                                                 \
	GET(freeCommandBuffers, "vkFreeCommandBuffers");                                                         \
	GET(beginCommandBuffer, "vkBeginCommandBuffer");                                                         \
	GET(endCommandBuffer, "vkEndCommandBuffer");                                                             \
	GET(queueSubmit, "vkQueueSubmit");                                                                       \
	GET(cmdBindPipeline, "vkCmdBindPipeline");                                                               \
	GET(cmdBindDescriptorSets, "vkCmdBindDescriptorSets");                                                   \
	GET(cmdPushConstants, "vkCmdPushConstants");                                                             \
	GET(cmdDispatch, "vkCmdDispatch");                                                                       \
	GET(cmdPipelineBarrier, "vkCmdPipelineBarrier");                                                         \
	GET(cmdCopyBuffer, "vkCmdCopyBuffer");                                                                   \
	GET(cmdFillBuffer, "vkCmdFillBuffer");                                                                   \
	GET(cmdWriteTimestamp, "vkCmdWriteTimestamp");                                                           \
	GET(cmdResetQueryPool, "vkCmdResetQueryPool");                                                           \
	GET(createShaderModule, "vkCreateShaderModule");                                                         \
	GET(destroyShaderModule, "vkDestroyShaderModule");                                                       \
	GET(createComputePipelines, "vkCreateComputePipelines");                                                 \
	GET(destroyPipeline, "vkDestroyPipeline");                                                               \
	GET(createPipelineCache, "vkCreatePipelineCache");                                                       \
	GET(getPipelineCacheData, "vkGetPipelineCacheData");                                                     \
	GET(destroyPipelineCache, "vkDestroyPipelineCache");                                                     \
	GET(createDescriptorSetLayout, "vkCreateDescriptorSetLayout");                                           \
	GET(destroyDescriptorSetLayout, "vkDestroyDescriptorSetLayout");                                         \
	GET(createPipelineLayout, "vkCreatePipelineLayout");                                                     \
	GET(destroyPipelineLayout, "vkDestroyPipelineLayout");                                                   \
	GET(createDescriptorPool, "vkCreateDescriptorPool");                                                     \
	GET(destroyDescriptorPool, "vkDestroyDescriptorPool");                                                   \
	GET(allocateDescriptorSets, "vkAllocateDescriptorSets");                                                 \
	GET(updateDescriptorSets, "vkUpdateDescriptorSets");                                                     \
	GET(createQueryPool, "vkCreateQueryPool");                                                               \
	GET(destroyQueryPool, "vkDestroyQueryPool");                                                             \
	GET(getQueryPoolResults, "vkGetQueryPoolResults")

typedef int create_fn(void *, const void *, const void *, uint64_t *);
typedef void destroy_fn(void *, uint64_t, const void *);

struct vk_dev {
	void *dev, *queue;
	void (*destroyDevice)(void *, const void *);
	void (*getDeviceQueue)(void *, uint32_t, uint32_t, void **);
	int (*deviceWaitIdle)(void *);
	create_fn *createBuffer, *allocateMemory, *createFence, *createCommandPool, *createShaderModule,
		*createPipelineCache, *createDescriptorSetLayout, *createPipelineLayout, *createDescriptorPool,
		*createQueryPool;
	destroy_fn *destroyBuffer, *freeMemory, *destroyFence, *destroyCommandPool, *destroyShaderModule,
		*destroyPipeline, *destroyPipelineCache, *destroyDescriptorSetLayout, *destroyPipelineLayout,
		*destroyDescriptorPool, *destroyQueryPool;
	void (*getBufferMemoryRequirements)(void *, uint64_t, void *);
	int (*bindBufferMemory)(void *, uint64_t, uint64_t, uint64_t);
	int (*mapMemory)(void *, uint64_t, uint64_t, uint64_t, uint32_t, void **);
	uint64_t (*getBufferDeviceAddress)(void *, const void *);
	int (*getFenceStatus)(void *, uint64_t);
	int (*resetFences)(void *, uint32_t, const uint64_t *);
	int (*waitForFences)(void *, uint32_t, const uint64_t *, uint32_t, uint64_t);
	int (*allocateCommandBuffers)(void *, const void *, void **);
	void (*freeCommandBuffers)(void *, uint64_t, uint32_t, void *const *);
	int (*beginCommandBuffer)(void *, const void *);
	int (*endCommandBuffer)(void *);
	int (*queueSubmit)(void *, uint32_t, const void *, uint64_t);
	void (*cmdBindPipeline)(void *, uint32_t, uint64_t);
	void (*cmdBindDescriptorSets)(
		void *, uint32_t, uint64_t, uint32_t, uint32_t, const uint64_t *, uint32_t, const uint32_t *);
	void (*cmdPushConstants)(void *, uint64_t, uint32_t, uint32_t, uint32_t, const void *);
	void (*cmdDispatch)(void *, uint32_t, uint32_t, uint32_t);
	void (*cmdPipelineBarrier)(void *, uint32_t, uint32_t, uint32_t, uint32_t, const void *, uint32_t,
		const void *, uint32_t, const void *);
	void (*cmdCopyBuffer)(void *, uint64_t, uint64_t, uint32_t, const void *);
	void (*cmdFillBuffer)(void *, uint64_t, uint64_t, uint64_t, uint32_t);
	void (*cmdWriteTimestamp)(void *, uint32_t, uint64_t, uint32_t);
	void (*cmdResetQueryPool)(void *, uint64_t, uint32_t, uint32_t);
	int (*createComputePipelines)(void *, uint64_t, uint32_t, const void *, const void *, uint64_t *);
	int (*getPipelineCacheData)(void *, uint64_t, size_t *, void *);
	int (*allocateDescriptorSets)(void *, const void *, uint64_t *);
	void (*updateDescriptorSets)(void *, uint32_t, const void *, uint32_t, const void *);
	int (*getQueryPoolResults)(void *, uint64_t, uint32_t, uint32_t, size_t, void *, uint64_t, uint32_t);
};
#endif
