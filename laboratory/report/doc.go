// Package report shows the results of workloads that were played: a table of all jobs, summaries,
// and drawings. It compares several policies side by side, and gives confidence intervals of their
// differences.
//
//	recorder := report.NewRecorder(w, c)
//	result, err := simulation.Play(ctx, simulation.Options{Workload: w, Cluster: c, Watch: recorder, …})
//	run := report.NewRun("fair", seed, w, c, result, recorder)
//	err = run.CSV(jobs)
//	err = report.Compare([]*report.Run{run, other}).HTML(page)
//
// The package reads no clock and opens no file. The same results give the same bytes, on any
// machine: numbers that come from divisions are written with nine digits. Names may come from
// strangers, and are escaped.
//
// The simulation's goroutine alone calls a Recorder. A Run and a Comparison may be read
// concurrently.
package report
