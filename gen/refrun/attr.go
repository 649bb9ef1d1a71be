package refrun

// boolAttr is an attribute that is absent when false.
func boolAttr(c *Call, name string) bool {
	v, _ := c.Attr[name].(bool)
	return v
}

func floatAttr(c *Call, name string, absent float64) float64 {
	if v, ok := c.Attr[name].(float64); ok {
		return v
	}
	return absent
}

func intAttr(c *Call, name string, absent int) int {
	if v, ok := c.Attr[name].(int); ok {
		return v
	}
	return absent
}
