package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	defaultEndpoint = "https://huggingface.co"
	segmentBytes    = 8 << 20 // a range request of a large file
	segmentsPerFile = 4       // in flight at once
	buffers         = 16      // segments in memory over all files: 128 MiB
)

// Options says where a Client downloads from and to. Zero values take the defaults below; OptionsFromEnv
// fills in what the environment says.
type Options struct {
	Endpoint string // default https://huggingface.co
	CacheDir string // required: the folder that holds models--OWNER--REPO
	Token    string // "" for public repositories
	Offline  bool   // use the cache only

	Files        int           // files that are downloaded at once; default 4
	Retries      int           // tries after the first one that brought nothing; default 5
	Backoff      time.Duration // wait before the second try, doubled for each further one; default 500 ms
	MaxWait      time.Duration // longest wait that a server may ask for by Retry-After; default 5 minutes
	StallTimeout time.Duration // longest time without a byte; default 60 s
}

// String shows the options without the token.
func (o Options) String() string {
	token := "no token"
	if o.Token != "" {
		token = "a token"
	}
	return fmt.Sprintf("endpoint %s, cache %s, offline %v, %s", o.Endpoint, o.CacheDir, o.Offline, token)
}

// GoString is String, so that no way of printing shows the token.
func (o Options) GoString() string { return o.String() }

// OptionsFromEnv reads HF_ENDPOINT, HF_HUB_CACHE (HUGGINGFACE_HUB_CACHE), HF_HOME, XDG_CACHE_HOME,
// HF_TOKEN (HUGGING_FACE_HUB_TOKEN), HF_TOKEN_PATH or the token file in HF_HOME, and HF_HUB_OFFLINE, with
// huggingface_hub's meaning and precedence. It fails where the home folder is unknown or the token
// unreadable.
func OptionsFromEnv() (Options, error) {
	home, err := hfHome()
	if err != nil {
		return Options{}, err
	}
	o := Options{Endpoint: os.Getenv("HF_ENDPOINT"), CacheDir: filepath.Join(home, "hub")}
	if dir := first("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"); dir != "" {
		if o.CacheDir, err = expand(dir); err != nil {
			return Options{}, err
		}
	}
	switch strings.ToUpper(os.Getenv("HF_HUB_OFFLINE")) {
	case "1", "ON", "YES", "TRUE":
		o.Offline = true
	}
	o.Token, err = envToken(home)
	return o, err
}

// first returns the first variable that is not empty.
func first(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

func hfHome() (string, error) {
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return expand(dir)
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return expand(filepath.Join(dir, "huggingface"))
	}
	return expand(filepath.Join("~", ".cache", "huggingface"))
}

// expand replaces a leading ~ and variables and makes the path absolute.
func expand(dir string) (string, error) {
	dir = os.ExpandEnv(dir)
	if dir == "~" || strings.HasPrefix(dir, "~/") || strings.HasPrefix(dir, `~\`) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("home folder of the cache: %w; set HF_HOME", err)
		}
		dir = filepath.Join(home, dir[1:])
	}
	return filepath.Abs(dir)
}

func envToken(home string) (string, error) {
	if t := strings.TrimSpace(first("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")); t != "" {
		return t, nil
	}
	path := filepath.Join(home, "token")
	if p := os.Getenv("HF_TOKEN_PATH"); p != "" {
		var err error
		if path, err = expand(p); err != nil {
			return "", err
		}
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Client downloads from one endpoint into one cache. It is safe for use by several goroutines.
type Client struct {
	opt      Options
	endpoint *url.URL
	http     *http.Client
	buffers  chan struct{} // one token a segment in memory
	segment  int64
	space    func(dir string) (free uint64, known bool, err error)
}

// New checks the options and returns a client. It opens no connection.
func New(o Options) (*Client, error) {
	if o.Endpoint == "" {
		o.Endpoint = defaultEndpoint
	}
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" ||
		u.User != nil {
		return nil, errors.New("endpoint (HF_ENDPOINT): want a URL like " + defaultEndpoint +
			" without user, password and query")
	}
	if o.CacheDir == "" {
		return nil, errors.New("hub: no cache folder is given")
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token (HF_TOKEN or the token file): it contains blanks, line breaks " +
			"or other characters that no token has")
	}
	setDefault(&o.Files, 4)
	setDefault(&o.Retries, 5)
	setDefault(&o.Backoff, 500*time.Millisecond)
	setDefault(&o.MaxWait, 5*time.Minute)
	setDefault(&o.StallTimeout, time.Minute)
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: o.StallTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   buffers,
		DisableCompression:    true, // lengths and ranges must be those of the file
		ForceAttemptHTTP2:     true,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		opt: o, endpoint: u, http: &http.Client{Transport: transport, CheckRedirect: stay},
		buffers: make(chan struct{}, buffers), segment: segmentBytes, space: freeSpace,
	}, nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func userAgent() string { return "vulcast; " + runtime.Version() + "; " + runtime.GOOS }
