package shaders

// attentionSources lists the attention kernels: tile kernels for GPUs, which stage in shared memory, and lane
// kernels for CPU drivers, which have neither shared memory nor barriers. All are correct on every device
// that can run them. Coop kernels need matrix units and 16-bit operands.
func attentionSources() []Source {
	var all []Source
	for _, name := range []string{"attention_tile", "attention_few", "attention_combine", "attention_grad_q_tile", "attention_grad_kv_tile",
		"attention_grad_sinks", "attention_lanes", "attention_grad_q_lanes", "attention_grad_kv_lanes"} {
		all = append(all, Source{Name: name, Template: name + ".comp.tmpl"})
	}
	for _, name := range []string{"attention", "attention_grad_q", "attention_grad_kv"} {
		for _, typ := range []string{"bf16", "f16"} {
			all = append(all, Source{Name: name + "_coop_" + typ, Template: name + "_coop.comp.tmpl",
				Params: map[string]any{"Name": typ, "BF": typ == "bf16"}})
		}
	}
	return all
}
