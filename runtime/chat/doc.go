// Package chat turns a conversation into the prompt text a model was trained on.
//
// Hugging Face checkpoints carry a chat template: a Jinja2 program that receives the messages, tools
// and a few flags and writes the prompt. This package is an engine for such templates. It follows
// Python's Jinja2 3.1 as the transformers library sets it up: sandboxed and immutable values,
// trim_blocks and lstrip_blocks on, the loop controls, a {% generation %} tag, a tojson filter that
// is json.dumps, and the functions raise_exception and strftime_now.
//
// A first use:
//
//	set, err := chat.FromTokenizerConfig(modelDir)
//	messages, err := chat.DecodeJSON([]byte(`[{"role":"user","content":"Hi"}]`))
//	res, err := set.Render(chat.Input{Messages: messages.(*chat.List).Items, AddGenerationPrompt: true})
//	fmt.Print(res.Text)
//
// Values are Python's: None, bool, int, float, str, list, tuple and dict, the last keeping the order
// of its keys (see Value). Parse reports unsupported or wrong syntax with its line and column, and
// Render reports what the template raised, or did wrong, in the same way (see Error).
//
// Templates come from strangers. Every loop, call, string and number is counted against Limits, so a
// hostile template ends in an error of KindLimit and never in a hang or an exhausted machine.
//
// How it works: lexer.go splits the source, parser*.go build the tree of ast.go, scope.go computes
// for each block which names it owns and where their first values come from (Jinja's scoping is
// static), and eval*.go walk the tree. The rest are Python's operators, methods and formats.
//
// Known differences from Python: tags that need several templates (include, extends, block, import),
// autoescape, and the filters random, urlize, xmlattr, wordwrap, striptags and pprint are refused when
// parsing; {% do %} is understood although transformers does not switch it on; a generator or method
// prints without its address; slicing a literal that cannot be sliced, as in {{ 1[2:] }}, is an error
// and not undefined; recursion ends at Limits.MaxDepth and not at Python's stack.
//
// Source: the Jinja2 3.1 documentation and behaviour, and transformers' apply_chat_template.
package chat
