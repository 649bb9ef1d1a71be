package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsFromEnv(t *testing.T) {
	home := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	for path, text := range map[string]string{
		at(".cache", "huggingface", "token"): "hf_home\n", at("hf", "token"): "hf_file",
		at("other"): "hf_other"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		env  map[string]string
		want Options
	}{
		{"nothing", nil, Options{CacheDir: at(".cache", "huggingface", "hub"), Token: "hf_home"}},
		{"XDG_CACHE_HOME", map[string]string{"XDG_CACHE_HOME": at("xdg")},
			Options{CacheDir: at("xdg", "huggingface", "hub")}},
		{"HF_HOME", map[string]string{"HF_HOME": "~/hf", "XDG_CACHE_HOME": at("xdg")},
			Options{CacheDir: at("hf", "hub"), Token: "hf_file"}},
		{"HF_HUB_CACHE", map[string]string{"HF_HUB_CACHE": "$HOME/c", "HUGGINGFACE_HUB_CACHE": "/x"},
			Options{CacheDir: at("c"), Token: "hf_home"}},
		{"HUGGINGFACE_HUB_CACHE", map[string]string{"HUGGINGFACE_HUB_CACHE": at("d")},
			Options{CacheDir: at("d"), Token: "hf_home"}},
		{"HF_TOKEN", map[string]string{"HF_TOKEN": " hf_a\n", "HUGGING_FACE_HUB_TOKEN": "hf_b"},
			Options{CacheDir: at(".cache", "huggingface", "hub"), Token: "hf_a"}},
		{"HUGGING_FACE_HUB_TOKEN", map[string]string{"HUGGING_FACE_HUB_TOKEN": "hf_b"},
			Options{CacheDir: at(".cache", "huggingface", "hub"), Token: "hf_b"}},
		{"HF_TOKEN_PATH", map[string]string{"HF_TOKEN_PATH": at("other")},
			Options{CacheDir: at(".cache", "huggingface", "hub"), Token: "hf_other"}},
		{"rest", map[string]string{"HF_HOME": at("e"), "HF_ENDPOINT": "https://mirror.example/",
			"HF_HUB_OFFLINE": "on"},
			Options{CacheDir: at("e", "hub"), Endpoint: "https://mirror.example/", Offline: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",
				"XDG_CACHE_HOME", "HF_TOKEN",
				"HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT", "HF_HUB_OFFLINE"} {
				t.Setenv(name, tt.env[name])
			}
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			got, err := OptionsFromEnv()
			if d := cmp.Diff(tt.want, got); err != nil || d != "" {
				t.Errorf("%v (-want +got)\n%s", err, d)
			}
		})
	}
	t.Run("unreadable token", func(t *testing.T) {
		t.Setenv("HF_TOKEN", "")
		t.Setenv("HUGGING_FACE_HUB_TOKEN", "")
		t.Setenv("HF_TOKEN_PATH", home) // a folder
		if _, err := OptionsFromEnv(); err == nil || !strings.Contains(err.Error(), "token file: ") {
			t.Errorf("got %v", err)
		}
	})
}

func TestPrint(t *testing.T) {
	o := Options{Endpoint: "https://h", CacheDir: "c", Token: "hf_secret"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, o); got != "endpoint https://h, cache c, offline false, a token" {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		name string
		in   Options
		want string
	}{
		{"endpoint", Options{Endpoint: "ftp://x", CacheDir: "c"}, "endpoint (HF_ENDPOINT): want a URL like"},
		{"endpoint user", Options{Endpoint: "https://u:p@x", CacheDir: "c"},
			"without user, password and query"},
		{"cache", Options{}, "no cache folder is given"},
		{"token", Options{CacheDir: "c", Token: "a\nb"}, "characters that no token has"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
