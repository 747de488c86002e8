// Package experiment plays published experiments that are written in YAML. A file has a workload, a
// cluster, and policies with their settings. It has the figures that are computed from the runs,
// and the published results.
//
//	e, err := experiment.Parse("hfsp-order.yaml", text)
//	...
//	outcome, err := e.Run(ctx, experiment.Options{Launch: launch})
//	...
//	err = outcome.Text(os.Stdout)
//
// An Experiment is what the file says. Run plays each policy once for each value of its sweep and
// each of its seeds. A Figure is a number for each value of the sweep, the mean over the seeds. A
// Claim compares figures with published results; the file's verdict must be the computed one.
//
// There is a closed set of figures (Figure.Of) and no language of expressions: for more, write a
// program. The same file gives the same bytes on any machine.
package experiment
