// Package data turns texts into the batches that training and evaluation read.
//
// The pieces, in the order they meet:
//
//   - [Files] expands names, folders and patterns; [Texts] reads them as documents.
//   - [Tokenize] encodes documents into one stream of token ids, an end token behind each; [Split] holds some out.
//   - A [Set] is a data set cut into rows of one length. [Blocks] cuts a token stream without padding.
//   - A [Loader] visits the rows of a set in a seeded order, epoch after epoch, as [Batch]es. Its position is one
//     number, so that a run can stop anywhere and go on with the very next batch.
//
// What a row holds is decided by the set alone: tokens, positions, segments (packed sequences that do not see
// each other) and labels. Other record shapes and formats are other sets.
package data
