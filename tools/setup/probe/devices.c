// Counts the Vulkan devices of this machine, without Vulkan's headers.
// Exit status: 0 at least one device, 3 no loader, 4 no driver or no device.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

// VkInstanceCreateInfo, all optional members left out.
struct create {
    uint32_t type;
    const void *next;
    uint32_t flags;
    const void *application;
    uint32_t layers;
    const char *const *layer_names;
    uint32_t extensions;
    const char *const *extension_names;
};

typedef int32_t (*create_instance)(const struct create *, const void *, void **);
typedef int32_t (*enumerate_devices)(void *, uint32_t *, void **);

int main(void) {
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!loader) {
        printf("%s\n", dlerror());
        return 3;
    }
    create_instance create = (create_instance)dlsym(loader, "vkCreateInstance");
    enumerate_devices enumerate = (enumerate_devices)dlsym(loader, "vkEnumeratePhysicalDevices");
    if (!create || !enumerate) {
        printf("libvulkan.so.1 lacks vkCreateInstance\n");
        return 3;
    }
    struct create info = {.type = 1}; // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
    void *instance = 0;
    int32_t result = create(&info, 0, &instance);
    if (result) {
        printf("vkCreateInstance returned %d\n", result);
        return 4;
    }
    uint32_t count = 0;
    result = enumerate(instance, &count, 0);
    if (result || count == 0) {
        printf("vkEnumeratePhysicalDevices returned %d and found %u devices\n", result, count);
        return 4;
    }
    printf("%u\n", count);
    return 0;
}
