package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vulcast/vulcast/tools/internal/debs"
)

// manifestDirs are where the system's driver manifests lie.
var manifestDirs = []string{"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"}

// lavapipe installs Mesa's CPU driver of this release when it is missing.
func lavapipe(f debs.Fetcher, _, run string) error {
	manifest := findManifest("lvp_icd*.json")
	if manifest == "" {
		if err := f.Install("libvulkan1", "mesa-vulkan-drivers"); err != nil {
			return err
		}
		if manifest = findManifest("lvp_icd*.json"); manifest == "" {
			return fmt.Errorf("mesa-vulkan-drivers is installed, but no lvp_icd*.json lies in %v", manifestDirs)
		}
	}
	return runWith(run, manifest)
}

// findManifest returns the first manifest of the system that matches the pattern, or "".
func findManifest(pattern string) string {
	for _, dir := range manifestDirs {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// mesaNew unpacks Mesa's current drivers with loader, validation layer and vulkaninfo. They need a newer C
// library than the system's, so programs start through the unpacked folder's own loader.
func mesaNew(f debs.Fetcher, build, run string) error {
	dir := filepath.Join(build, "mesa-new")
	err := f.Newer(dir, "mesa-vulkan-drivers", "libvulkan1", "vulkan-validationlayers", "vulkan-tools")
	if err != nil {
		return err
	}
	root, err := debs.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(root.Dir, "usr/share/vulkan/icd.d/lvp_icd*.json"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: %d manifests lvp_icd*.json, want 1", root.Dir, len(found))
	}
	libraries, err := filepath.Glob(filepath.Join(root.Dir, "usr/lib/*/libvulkan_lvp.so"))
	if err != nil || len(libraries) != 1 {
		return fmt.Errorf("%s: %d files libvulkan_lvp.so, want 1", root.Dir, len(libraries))
	}
	manifest := filepath.Join(dir, "lvp_icd.json")
	if err := writeManifest(manifest, libraries[0]); err != nil {
		return err
	}
	return root.WrapAny(run, "VK_DRIVER_FILES=$root/../lvp_icd.json", "VK_ICD_FILENAMES=$root/../lvp_icd.json",
		"VK_LAYER_PATH=$root/usr/share/vulkan/explicit_layer.d",
		// Newer layers look for missing barriers between kernels only when told to; older ones always do.
		"VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1")
}

// swiftshader takes SwiftShader out of the browser's package; its library needs nothing else of it.
func swiftshader(f debs.Fetcher, build, run string) error {
	dir := filepath.Join(build, "swiftshader")
	if err := f.Own(dir, "chromium-common"); err != nil {
		return err
	}
	const library = "libvk_swiftshader.so"
	root := filepath.Join(dir, "root")
	if err := os.Rename(filepath.Join(root, "usr/lib/chromium", library), filepath.Join(dir, library)); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	manifest := filepath.Join(dir, "vk_swiftshader_icd.json")
	if err := writeManifest(manifest, filepath.Join(dir, library)); err != nil {
		return err
	}
	return runWith(run, manifest)
}

// writeManifest writes a driver manifest that names the library by its absolute path.
func writeManifest(path, library string) error {
	library, err := filepath.Abs(library)
	if err != nil {
		return err
	}
	type icd struct {
		LibraryPath string `json:"library_path"`
		APIVersion  string `json:"api_version"`
	}
	text, err := json.MarshalIndent(map[string]any{
		"file_format_version": "1.0.1",
		"ICD":                 icd{LibraryPath: library, APIVersion: "1.3.0"},
	}, "", "    ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// runWith writes a script that starts its arguments with one driver.
func runWith(script, manifest string) error {
	manifest, err := filepath.Abs(manifest)
	if err != nil {
		return err
	}
	return debs.WriteScript(script, fmt.Sprintf("#!/bin/sh\n# Starts a program with one Vulkan driver.\n"+
		"export VK_DRIVER_FILES=\"%s\"\nexport VK_ICD_FILENAMES=\"%s\"\nexec \"$@\"\n", manifest, manifest))
}
