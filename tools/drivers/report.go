package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// facts are the lines of vulkaninfo that decide which kernels a driver can run.
var facts = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\s*deviceName\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*driverInfo\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*apiVersion\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*subgroupSize\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*maxStorageBufferRange\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*maxMemoryAllocationSize\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*maxComputeSharedMemorySize\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*maxComputeWorkGroupInvocations\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*storageBuffer16BitAccess\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*shaderFloat16\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*bufferDeviceAddress\s*=.*$`),
	regexp.MustCompile(`(?m)^\s*VK_KHR_cooperative_matrix\s*:.*$`),
	regexp.MustCompile(`(?m)^\s*VK_NV_cooperative_matrix2\s*:.*$`),
	regexp.MustCompile(`(?m)^\s*VK_KHR_shader_bfloat16\s*:.*$`),
	regexp.MustCompile(`(?m)^\s*VK_LAYER_KHRONOS_validation.*$`),
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
		for _, fact := range facts {
			line := fact.Find(out)
			if line == nil {
				fmt.Fprintf(w, "    no line %s\n", fact)
				continue
			}
			fmt.Fprintf(w, "    %s\n", regexp.MustCompile(`\s+`).ReplaceAll(line, []byte(" ")))
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
