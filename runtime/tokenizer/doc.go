// Package tokenizer turns text into token ids and back, exactly as the published tokenizers do.
//
// A tokenizer is a pipeline. Text runs through these stages, each of which a file may leave out:
//
//	added tokens   special strings such as <|im_end|> are cut out of the raw text first
//	normalizer     rewrites the characters (NFC, lower case, "▁" for a space, ...)
//	pre-tokenizer  cuts the text into words, which are never joined again
//	model          splits every word into vocabulary entries: BPE, Unigram, WordPiece or WordLevel
//	post-processor puts special tokens around the result: [CLS] ... [SEP], <s> ...
//	decoder        (the way back) joins the tokens' strings into text
//
// Load reads a tokenizer.json file, a sentencepiece .model file, a tiktoken rank file, a vocab.txt, a
// vocab.json with merges.txt, or a folder that holds one of them. TrainBPE and TrainUnigram make a new
// one from text, and Save writes it as tokenizer.json.
//
//	tok, err := tokenizer.Load("tokenizer.json")
//	ids := tok.Encode("Hello, world", true)
//	text := tok.Decode(ids, true)
//
// A Tokenizer never changes after it has been made, and all its methods may be called from several
// goroutines at once. Text is UTF-8; every maximal invalid part of it is read as U+FFFD. Offsets are
// byte offsets into the text as it was given (Encoding.CharOffsets converts them to characters).
package tokenizer
