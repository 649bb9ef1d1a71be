package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vulcast/vulcast/runtime/chat"
	"github.com/vulcast/vulcast/runtime/generate"
)

type chatFlags struct {
	samplingFlags
	system, template string
}

func chatCommand(a *app) *cobra.Command {
	f := &chatFlags{}
	c := &cobra.Command{
		Use:   "chat [flags] MODEL",
		Short: "Talk with a model",
		Long: `Talk with MODEL, the folder of a package or OWNER/REPO of the Hub, through its chat template. Each line of standard input is a message; the
answer streams to standard output. An empty line is left out, "/clear" begins a new conversation, the end of the input ends
the program. An interrupt ends the program.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.chat(c, f, args[0]) },
	}
	f.add(c.Flags())
	c.Flags().StringVar(&f.system, "system", "", "system message")
	c.Flags().StringVar(&f.template, "template", "", "a template file, instead of the package's")
	return c
}

// talk is a conversation.
type talk struct {
	*chooser
	templates *chat.Set
	system    string
	messages  []chat.Value
	out       io.Writer
}

func (a *app) chat(c *cobra.Command, f *chatFlags, dir string) error {
	dir, err := modelFolder(c.Context(), c.ErrOrStderr(), dir)
	if err != nil {
		return err
	}
	templates, err := chatTemplates(dir, f.template)
	if err != nil {
		return err
	}
	ch, err := a.openChooser(c.Flags(), &f.samplingFlags, dir)
	if err != nil {
		return err
	}
	defer ch.close()
	t := &talk{chooser: ch, templates: templates, system: f.system, out: c.OutOrStdout()}
	t.clear()
	in := bufio.NewScanner(c.InOrStdin())
	in.Buffer(nil, 16<<20)
	for t.prompt(c.InOrStdin()); in.Scan(); t.prompt(c.InOrStdin()) {
		line := strings.TrimSpace(in.Text())
		switch line {
		case "":
			continue
		case "/clear":
			t.clear()
			continue
		}
		if err := t.answer(c, line); err != nil {
			return err
		}
	}
	return in.Err()
}

// chatTemplates are those of the package, or of a file.
func chatTemplates(dir, file string) (*chat.Set, error) {
	set, err := chat.FromTokenizerConfig(dir)
	if file == "" {
		return set, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := chat.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if set == nil {
		set = &chat.Set{}
	}
	set.Templates = map[string]*chat.Template{"default": parsed}
	return set, nil
}

func (t *talk) clear() {
	t.messages = nil
	if t.system != "" {
		t.messages = append(t.messages, chat.Message{Role: "system", Content: t.system})
	}
}

// prompt shows that a message is wanted, to people.
func (t *talk) prompt(in io.Reader) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(t.out, "> ")
	}
}

// answer adds a message and writes what the model says to it.
func (t *talk) answer(c *cobra.Command, text string) error {
	t.messages = append(t.messages, chat.Message{Role: "user", Content: text})
	page, err := t.templates.Render(chat.Input{Messages: t.messages, AddGenerationPrompt: true})
	if err != nil {
		return err
	}
	ids, err := t.tok.EncodeChecked(page.Text, false)
	if err != nil {
		return err
	}
	outs, err := t.g.Run(c.Context(), [][]int32{ids}, t.o, func(x generate.Token) error {
		_, err := fmt.Fprint(t.out, x.Text)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(t.out)
	if outs[0].Reason == generate.Interrupted {
		return errors.New("interrupted")
	}
	t.messages = append(t.messages, chat.Message{Role: "assistant", Content: outs[0].Text})
	return nil
}
