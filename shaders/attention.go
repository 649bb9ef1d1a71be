package shaders

// attentionSources lists the attention kernels: tile kernels for GPUs, which stage in shared memory, and lane kernels for
// CPU drivers, which have neither shared memory nor barriers. Both are correct on every device.
func attentionSources() []Source {
	return []Source{
		{Name: "attention_tile", Template: "attention_tile.comp.tmpl"},
		{Name: "attention_combine", Template: "attention_combine.comp.tmpl"},
		{Name: "attention_grad_q_tile", Template: "attention_grad_q_tile.comp.tmpl"},
		{Name: "attention_grad_kv_tile", Template: "attention_grad_kv_tile.comp.tmpl"},
		{Name: "attention_lanes", Template: "attention_lanes.comp.tmpl"},
		{Name: "attention_grad_q_lanes", Template: "attention_grad_q_lanes.comp.tmpl"},
		{Name: "attention_grad_kv_lanes", Template: "attention_grad_kv_lanes.comp.tmpl"},
		{Name: "attention_grad_sinks", Template: "attention_grad_sinks.comp.tmpl"},
	}
}
