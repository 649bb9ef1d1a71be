package tokenizer

func translateRegex(source string) (string, error) { return source, nil }
