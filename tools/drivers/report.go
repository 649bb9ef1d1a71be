package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// facts are the names in vulkaninfo's output that decide which kernels a driver can run.
var facts = []string{
	"deviceName",
	"driverInfo",
	"apiVersion",
	"subgroupSize",
	"maxStorageBufferRange",
	"maxMemoryAllocationSize",
	"maxComputeSharedMemorySize",
	"maxComputeWorkGroupInvocations",
	"storageBuffer16BitAccess",
	"shaderFloat16",
	"shaderInt8",
	"bufferDeviceAddress",
	"subgroupSizeControl",
	"VK_KHR_cooperative_matrix",
	"VK_NV_cooperative_matrix2",
	"VK_KHR_shader_bfloat16",
	"VK_LAYER_KHRONOS_validation",
}

// report writes what vulkaninfo says of each driver that is there.
func report(w io.Writer, build string) error {
	for _, d := range drivers {
		fmt.Fprintf(w, "%s\n", d.name)
		script := runScript(build, d.name)
		if _, err := os.Stat(script); err != nil {
			fmt.Fprintf(w, "    not there; bring it with `go run ./tools/drivers %s`\n", d.name)
			continue
		}
		info := "vulkaninfo"
		// An unpacked folder has a vulkaninfo of its own, which knows the newer extensions.
		if own := filepath.Join(build, d.name, "root/usr/bin/vulkaninfo"); exists(own) {
			info = own
		} else if _, err := exec.LookPath(info); err != nil {
			return fmt.Errorf("vulkaninfo not found (package vulkan-tools)")
		}
		out, err := exec.Command(script, info).Output()
		if err != nil {
			return fmt.Errorf("%s %s: %w", script, info, err)
		}
		for _, name := range facts {
			fmt.Fprintf(w, "    %-32s %s\n", name, value(out, name))
		}
	}
	return nil
}

// value returns what vulkaninfo says of a name in its first line about it, or "no".
func value(info []byte, name string) string {
	m := regexp.MustCompile(`(?m)^[ \t]*` + name + `[ \t]*[=:(]?[ \t]*(.*)$`).FindSubmatch(info)
	if m == nil {
		return "no"
	}
	return string(m[1])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
