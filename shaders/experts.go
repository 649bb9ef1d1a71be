package shaders

// expertSources lists the kernels of routing and expert layers.
func expertSources() []Source {
	return []Source{
		{Name: "group_ids", Template: "group_ids.comp.tmpl"},
		{Name: "topk", Template: "topk.comp.tmpl"},
		{Name: "gather_last", Template: "gather_last.comp.tmpl"},
		{Name: "scatter_last", Template: "scatter_last.comp.tmpl"},
		{Name: "index_scores", Template: "index_scores.comp.tmpl"},
		{Name: "choose_keys", Template: "choose_keys.comp.tmpl"},
		{Name: "group_limit", Template: "group_limit.comp.tmpl"},
		{Name: "route", Template: "route.comp.tmpl"},
		{Name: "expert_linear", Template: "expert_linear.comp.tmpl"},
		{Name: "expert_grad", Template: "expert_grad.comp.tmpl"},
	}
}
