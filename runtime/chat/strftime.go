package chat

import (
	"fmt"
	"strings"
	"time"
)

// strftime is Python's datetime.strftime in the C locale, with glibc's - _ 0 ^ # flags.
func (in *interp) strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 >= len(format) {
			b.WriteByte(format[i])
			continue
		}
		start := i
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[i]) >= 0 && i+1 < len(format) {
			flag = format[i]
			i++
		}
		s, ok := strftimeField(t, format[i], flag)
		if !ok {
			s = format[start : i+1]
		}
		if flag == '^' {
			s = strings.ToUpper(s)
		}
		b.WriteString(s)
		in.checkSize(int64(b.Len()))
	}
	return b.String()
}

// number pads n to width with c unless a flag says otherwise.
func number(n, width int, c, flag byte) string {
	switch flag {
	case '-':
		return fmt.Sprint(n)
	case '_':
		c = ' '
	case '0':
		c = '0'
	}
	if c == ' ' {
		return fmt.Sprintf("%*d", width, n)
	}
	return fmt.Sprintf("%0*d", width, n)
}

// compound fields are written with other fields.
var compound = map[byte]string{
	'c': "Mon Jan _2 15:04:05 2006", 'D': "01/02/06", 'x': "01/02/06", 'F': "2006-01-02",
	'R': "15:04", 'T': "15:04:05", 'X': "15:04:05", 'r': "03:04:05 PM",
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'p': "PM",
}

func strftimeField(t time.Time, verb, flag byte) (string, bool) {
	if layout, ok := compound[verb]; ok {
		s := t.Format(layout)
		if flag == '#' && verb == 'p' {
			s = strings.ToLower(s)
		} else if flag == '#' {
			s = strings.ToUpper(s)
		}
		return s, true
	}
	switch verb {
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'P':
		return strings.ToLower(t.Format("PM")), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'z', 'Z':
		return "", true // datetime.now() has no zone
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	}
	return strftimeNumber(t, verb, flag)
}

func strftimeNumber(t time.Time, verb, flag byte) (string, bool) {
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	day := int(t.Weekday())
	type field struct {
		n, width int
		pad      byte
	}
	f, ok := map[byte]field{
		'd': {t.Day(), 2, '0'}, 'e': {t.Day(), 2, ' '}, 'm': {int(t.Month()), 2, '0'},
		'y': {t.Year() % 100, 2, '0'}, 'Y': {t.Year(), 1, '0'}, 'C': {t.Year() / 100, 2, '0'},
		'H': {t.Hour(), 2, '0'}, 'I': {hour12, 2, '0'}, 'k': {t.Hour(), 2, ' '}, 'l': {hour12, 2, ' '},
		'M': {t.Minute(), 2, '0'}, 'S': {t.Second(), 2, '0'}, 'j': {t.YearDay(), 3, '0'},
		'w': {day, 1, '0'}, 'u': {(day+6)%7 + 1, 1, '0'}, 'U': {(t.YearDay() + 6 - day) / 7, 2, '0'},
		'W': {(t.YearDay() + 6 - (day+6)%7) / 7, 2, '0'}, 'V': {isoWeek, 2, '0'},
		'G': {isoYear, 1, '0'}, 'g': {isoYear % 100, 2, '0'},
	}[verb]
	if !ok {
		return "", false
	}
	return number(f.n, f.width, f.pad, flag), true
}
