package tokenizer

import (
	"encoding/binary"
	"fmt"
	"math"
)

// protoField is one field of a protocol buffer message.
// Source: https://protobuf.dev/programming-guides/encoding/
type protoField struct {
	num   int
	at    int    // position in the file
	value uint64 // varint and fixed-size fields
	bytes []byte // length-delimited fields
	delim bool
}

// protoFields calls f for every field of a message that begins at byte base of the file.
func protoFields(b []byte, base int, f func(p protoField) error) error {
	for i := 0; i < len(b); {
		key, n := binary.Uvarint(b[i:])
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return fmt.Errorf("byte %d: wrong protocol buffer tag", base+i)
		}
		p := protoField{num: int(key >> 3), at: base + i}
		i += n
		switch key & 7 {
		case 0:
			if p.value, n = binary.Uvarint(b[i:]); n <= 0 {
				return fmt.Errorf("byte %d: field %d: wrong varint", base+i, p.num)
			}
		case 1:
			if n = 8; len(b)-i >= n {
				p.value = binary.LittleEndian.Uint64(b[i:])
			}
		case 5:
			if n = 4; len(b)-i >= n {
				p.value = uint64(binary.LittleEndian.Uint32(b[i:]))
			}
		case 2:
			size, k := binary.Uvarint(b[i:])
			if k <= 0 || size > uint64(len(b)-i-k) {
				return fmt.Errorf("byte %d: field %d: its length goes beyond the end", base+i, p.num)
			}
			p.at, p.delim, p.bytes = base+i+k, true, b[i+k:i+k+int(size)]
			n = k + int(size)
		default:
			return fmt.Errorf("byte %d: field %d: wire type %d is not known", base+i, p.num, key&7)
		}
		if i += n; i > len(b) {
			return fmt.Errorf("byte %d: field %d goes beyond the end", p.at, p.num)
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

func (p protoField) float() float32 { return math.Float32frombits(uint32(p.value)) }
func (p protoField) bool() bool     { return p.value != 0 }
func (p protoField) str() string    { return string(p.bytes) }
