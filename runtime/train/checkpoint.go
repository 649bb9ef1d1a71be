package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/safetensors"
)

// A checkpoint is a folder checkpoints/step-00000120 with two files:
//
//	state.safetensors   value/NAME as stored, m/NAME and v/NAME, and master/NAME of parameters stored in 16 bits, in the
//	                    layout of the device; parameters that are not trained are left out
//	trainer.json        the state below
//
// It is written under another name, flushed and renamed, so that there is never a half-written one; old ones
// are renamed away before they are removed.

// stateVersion changes when older checkpoints can no longer be read.
const stateVersion = 1

// state is what a run knows beside its tensors.
type state struct {
	Version  int     `json:"version"`
	Step     int     `json:"step"`     // steps done
	Steps    int     `json:"steps"`    // steps of the run
	Updates  int     `json:"updates"`  // steps that changed the parameters: fewer when F16 overflowed
	Position int64   `json:"position"` // rows read from the data
	Rows     int     `json:"rows"`     // of the data set
	Length   int     `json:"length"`   // of a row
	Scale    float64 `json:"scale"`    // loss scale
	Good     int     `json:"good"`     // steps since the scale changed
	Tokens   int64   `json:"tokens"`   // seen
	Seconds  float64 `json:"seconds"`  // spent
	Metrics  int64   `json:"metrics"`  // bytes of metrics.jsonl
	Config   Config  `json:"config"`
}

func (t *Trainer) path(parts ...string) string {
	return filepath.Join(append([]string{t.opts.Folder}, parts...)...)
}

func (t *Trainer) checkpoints() string { return t.path("checkpoints") }

var stepFolder = regexp.MustCompile(`^step-(\d{8,})$`)

// Checkpoints lists the checkpoints of a run's folder, oldest first.
func Checkpoints(folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(folder, "checkpoints"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() && stepFolder.MatchString(e.Name()) {
			list = append(list, e.Name())
		}
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(stepFolder.FindStringSubmatch(name)[1]) // digits by the pattern
		return n
	}
	slices.SortFunc(list, func(a, b string) int { return number(a) - number(b) })
	return list, err
}

// lastCheckpoint is the name of the newest checkpoint, "" when there is none. What a killed process left
// half-written is removed.
func (t *Trainer) lastCheckpoint() (string, error) {
	entries, err := os.ReadDir(t.checkpoints())
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			if err := os.RemoveAll(filepath.Join(t.checkpoints(), e.Name())); err != nil {
				return "", err
			}
		}
	}
	list, err := Checkpoints(t.opts.Folder)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[len(list)-1], nil
}

// Save writes a checkpoint of the present state and removes the oldest ones.
func (t *Trainer) Save() error {
	if err := t.metrics.sync(); err != nil {
		return err
	}
	t.at.Position = t.loader.Position()
	t.at.Metrics = t.metrics.bytes
	name := fmt.Sprintf("step-%08d", t.at.Step)
	final := filepath.Join(t.checkpoints(), name)
	if _, err := os.Stat(final); err == nil {
		return nil // the state of a step is always the same
	}
	temp, err := os.MkdirTemp(t.checkpoints(), "."+name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // gone already once renamed
	if _, err := safetensors.Write(temp, t.stateTensors(), safetensors.Options{Base: "state"}); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", t.at.Step, err)
	}
	text, err := json.MarshalIndent(&t.at, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(temp, "trainer.json"), append(text, '\n')); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", t.at.Step, err)
	}
	if err := errors.Join(os.Chmod(temp, 0o755), syncFolder(temp), os.Rename(temp, final)); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", t.at.Step, err)
	}
	if err := syncFolder(t.checkpoints()); err != nil {
		return err
	}
	return t.removeOld()
}

// removeOld keeps the newest Keep checkpoints.
func (t *Trainer) removeOld() error {
	list, err := Checkpoints(t.opts.Folder)
	if err != nil || t.cfg.Keep == 0 {
		return err
	}
	for len(list) > t.cfg.Keep {
		old := filepath.Join(t.checkpoints(), list[0])
		gone := filepath.Join(t.checkpoints(), ".old-"+list[0])
		if err := errors.Join(os.Rename(old, gone), os.RemoveAll(gone)); err != nil {
			return err
		}
		list = list[1:]
	}
	return nil
}

// stateTensor is a tensor of state.safetensors.
type stateTensor struct {
	name string
	t    gpu.Tensor
}

func (t *Trainer) stateList() []stateTensor {
	var list []stateTensor
	for i, p := range t.params {
		s := t.moments[i]
		list = append(list, stateTensor{"value/" + p.Name, p.Value}, stateTensor{"m/" + p.Name, s.M},
			stateTensor{"v/" + p.Name, s.V})
		if s.Master.Valid() {
			list = append(list, stateTensor{"master/" + p.Name, s.Master})
		}
	}
	return list
}

// diskType is how a storage type is written.
func diskType(t gpu.DType) safetensors.DType { return safetensors.DType(t.String()) }

func (t *Trainer) stateTensors() []safetensors.Tensor {
	var list []safetensors.Tensor
	for _, s := range t.stateList() {
		list = append(list, safetensors.Tensor{Name: s.name, DType: diskType(s.t.Type), Shape: s.t.Shape,
			Body: func(w io.Writer) error {
				raw := make([]byte, s.t.Bytes())
				if err := t.dev.Read(s.t, raw); err != nil {
					return err
				}
				_, err := w.Write(raw)
				return err
			}})
	}
	return list
}

// restore brings the state of a checkpoint back.
func (t *Trainer) restore(name string) error {
	dir := filepath.Join(t.checkpoints(), name)
	path := filepath.Join(dir, "trainer.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var at state
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&at); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.fits(&at); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.restoreTensors(filepath.Join(dir, "state.safetensors")); err != nil {
		return err
	}
	if t.at.Steps > 0 { // steps may be changed by the new configuration, those of a timed run stay
		at.Steps = t.at.Steps
	}
	at.Config = t.cfg
	t.at = at
	return t.loader.SetPosition(at.Position)
}

// fits wants the run of a checkpoint to be the one that is resumed.
func (t *Trainer) fits(at *state) error {
	if at.Version != stateVersion {
		return fmt.Errorf("version %d of the checkpoint, want %d", at.Version, stateVersion)
	}
	var errs []error
	same := func(what string, found, want any) {
		if found != want {
			errs = append(errs, fmt.Errorf("the run has %s %v, not %v: it cannot go on with another", what, found, want))
		}
	}
	same("batch", at.Config.Batch, t.cfg.Batch)
	same("accumulate", at.Config.Accumulate, t.cfg.Accumulate)
	same("seed", at.Config.Seed, t.cfg.Seed)
	same("rows of length", at.Length, t.at.Length)
	same("a number of rows of", at.Rows, t.at.Rows)
	same("freeze", strings.Join(at.Config.Freeze, " "), strings.Join(t.cfg.Freeze, " "))
	return errors.Join(errs...)
}

// restoreTensors reads state.safetensors.
func (t *Trainer) restoreTensors(path string) error {
	set, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer set.Close()
	list := t.stateList()
	if n := len(set.Names()); n != len(list) {
		return fmt.Errorf("%s: %d tensors, want the model's %d", path, n, len(list))
	}
	for _, s := range list {
		info, ok := set.Info(s.name)
		if !ok {
			return fmt.Errorf("%s: tensor %s is missing", path, s.name)
		}
		if info.DType != diskType(s.t.Type) || !slices.Equal(info.Shape, s.t.Shape) {
			return fmt.Errorf("%s: tensor %s is %s %v, want %s %v", path, s.name, info.DType, info.Shape, diskType(s.t.Type),
				s.t.Shape)
		}
		raw, err := set.Raw(s.name)
		if err != nil {
			return err
		}
		if err := t.dev.Write(s.t, raw); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// Status is how far the run of a checkpoint is.
type Status struct{ Step, Steps int }

// ReadStatus reads it from a checkpoint's folder.
func ReadStatus(checkpoint string) (Status, error) {
	path := filepath.Join(checkpoint, "trainer.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return Status{}, err
	}
	var at state
	if err := json.Unmarshal(text, &at); err != nil {
		return Status{}, fmt.Errorf("%s: %w", path, err)
	}
	return Status{at.Step, at.Steps}, nil
}
