// Package kit keeps the jars and classes of Java programs, for package minihdfs and for tests. It
// fetches jars through Maven, and compiles a few classes of our own beside them.
//
//	k, err := kit.Prepare(ctx, "hdfs", source, os.Stderr) // fetches, the first time
//	out, err := k.Command(ctx, "", "Hello", "world").Output()
//
// A kit lies in the user's cache folder, under its name and a hash of its sources. A JDK from 11 to
// 21 and Maven must be installed. Python does the same for packages of Python.
package kit
