// Package report shows the results of workloads that were played: a table of all jobs, summaries,
// and drawings. It compares several policies side by side, and says how far their differences can
// be trusted.
//
//	recorder := report.NewRecorder(w, c)
//	result, err := simulation.Play(ctx, simulation.Options{Workload: w, Cluster: c, Watch: recorder, …})
//	run := report.NewRun("fair", seed, w, c, result, recorder)
//	err = run.CSV(jobs)
//	err = report.Compare([]*report.Run{run, other}).HTML(page)
//
// The package reads no clock and opens no file. The same results give the same bytes, on
// any machine: numbers that come from divisions are written with nine digits. Names are
// anybody's words, and none of them is taken for markup.
//
// A recorder is used by one goroutine, as a simulation tells it. A Run and a Comparison may
// be read by several at once.
package report
