package main

// lifecycle draws the phases in docs/serve.md.
func lifecycle(d *drawing) error {
	const left, column, top, high = 104.0, 99.5, 60.0, 44.0
	phases := []struct {
		name, begins            [3]string
		ready, live, end, calls [3]string
	}{
		{[3]string{"starting"}, [3]string{"the process", "starts"},
			[3]string{"503"}, [3]string{"200"}, [3]string{"no"}, [3]string{"port closed"}},
		{[3]string{"listening"}, [3]string{"the policy and", "the certificate", "are loaded"},
			[3]string{"503"}, [3]string{"200"}, [3]string{"no"}, [3]string{"503"}},
		{[3]string{"ready"}, [3]string{"a review", "to itself", "succeeds"},
			[3]string{"200"}, [3]string{"200"}, [3]string{"yes"}, [3]string{"answered"}},
		{[3]string{"draining"}, [3]string{"SIGTERM", "arrives"},
			[3]string{"503"}, [3]string{"200"}, [3]string{"until removed"},
			[3]string{"answered with", "Connection:", "close"}},
		{[3]string{"stopping"}, [3]string{"no connection", "is open, or", "30 s are over"},
			[3]string{"503"}, [3]string{"200"}, [3]string{"no"}, [3]string{"in progress:", "answered"}},
		{[3]string{"stopped"}, [3]string{"all reviews", "are answered"},
			[3]string{"–"}, [3]string{"–"}, [3]string{"no"}, [3]string{"–"}},
	}
	d.heading("The phases of a process")
	for i, p := range phases {
		x := left + column*float64(i)
		fill, name := d.panel, d.theme.text
		if p.name[0] == "ready" || p.name[0] == "draining" {
			fill, name = d.ours, d.onOurs
		}
		d.add(`<path d="M%s %sh%s l10 22l-10 22h-%sl10 -22z" fill="%s" stroke="%s"/>`,
			x, top, column-13, column-13, fill, d.frame)
		d.text(x+column/2+1, top+27, label{anchor: "middle", bold: true, fill: name}, "%s", p.name[0])
		d.line(x, top+high, x, top+high+16, d.other, false)
		d.lines(x+2, top+high+30, label{size: 12, fill: d.faint}, p.begins)
		for row, cell := range [][3]string{p.ready, p.live, p.end, p.calls} {
			y := top + high + 98 + 32*float64(row)
			colour := d.theme.text
			if cell[0] == "200" || cell[0] == "yes" {
				colour = d.good
			}
			d.lines(x+2, y, label{size: 13, fill: colour, bold: colour == d.good}, cell)
		}
	}
	for row, name := range []string{"/readyz", "/livez", "endpoint", "reviews"} {
		y := top + high + 98 + 32*float64(row)
		d.line(20, y-21, 700, y-21, d.grid, false)
		d.text(20, y, label{bold: true, size: 13}, "%s", name)
	}
	d.text(20, top+high+30, label{size: 12, fill: d.faint}, "begins when")
	d.height = top + high + 98 + 32*3 + 54
	return nil
}

// lines draws up to three lines of text.
func (d *drawing) lines(x, y float64, l label, lines [3]string) {
	for i, line := range lines {
		if line != "" {
			d.text(x, y+15*float64(i), l, "%s", line)
		}
	}
}

// architecture draws the path of a review through the packages.
func architecture(d *drawing) error {
	d.heading("The path of a review")
	node := func(x, y, w, h float64, name, detail string) {
		d.box(x, y, w, h, d.panel, d.other)
		if detail == "" {
			d.text(x+w/2, y+h/2+5, label{anchor: "middle", bold: true}, "%s", name)
			return
		}
		d.text(x+w/2, y+h/2-3, label{anchor: "middle", bold: true}, "%s", name)
		d.text(x+w/2, y+h/2+15, label{anchor: "middle", size: 12, fill: d.faint}, "%s", detail)
	}
	node(20, 62, 150, 42, "kubectl", "and controllers")
	node(20, 160, 150, 56, "kube-apiserver", "")
	node(226, 102, 124, 42, "Service", "")
	node(226, 196, 150, 52, "Secret", "certificate and key")
	node(226, 292, 150, 52, "ConfigMap", "policy")

	d.box(408, 62, 292, 352, d.back, d.ours)
	d.text(424, 86, label{bold: true, fill: d.ours}, "a replica: evergate serve")
	for i, stage := range [][2]string{
		{"listener", "TLS, connections"}, {"limits", "memory, slots"}, {"review", "decodes JSON"},
		{"admission", "chooses the rules"}, {"policy", "findings, mirrors"}, {"answer", "patch, denial, warnings"},
	} {
		y := 102 + 51*float64(i)
		d.box(430, y, 250, 36, d.panel, d.ours)
		d.text(444, y+23, label{bold: true}, "%s", stage[0])
		d.text(668, y+23, label{anchor: "end", size: 13, fill: d.faint}, "%s", stage[1])
		if i > 0 {
			d.arrow(d.ours, false, 555, y-15, 555, y)
		}
	}
	d.arrow(d.theme.text, false, 95, 104, 95, 160)
	d.text(103, 136, label{size: 12, fill: d.faint}, "write")
	d.arrow(d.theme.text, false, 170, 180, 198, 180, 198, 123, 226, 123)
	d.text(176, 94, label{size: 12, fill: d.faint}, "AdmissionReview, HTTP/1.1 with TLS")
	d.arrow(d.theme.text, false, 350, 115, 430, 115)
	d.arrow(d.theme.text, false, 430, 375, 95, 375, 95, 216)
	d.text(103, 367, label{size: 12, fill: d.faint}, "decision")
	d.arrow(d.other, true, 376, 222, 392, 222, 392, 129, 430, 129)
	d.arrow(d.other, true, 376, 318, 430, 318)
	d.text(20, 440, label{size: 13, fill: d.faint},
		"Dashed: files that are polled. If a new version is invalid, the last good one stays active.")
	d.text(20, 460, label{size: 13, fill: d.faint}, "A replica does not have access to the Kubernetes API.")
	d.height = 480
	return nil
}
