package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lines are command lines.
type lines []string

func (l *lines) String() string { return strings.Join(*l, "; ") }

func (l *lines) Set(line string) error {
	*l = append(*l, line)
	return nil
}

func main() {
	var run lines
	flag.Var(&run, "run", "a program with its arguments; may be given several times")
	memory := flag.Int("memory", 2048, "the machine's memory, in MiB")
	most := flag.Duration("timeout", 20*time.Minute, "how long all of it may take")
	flag.Parse()
	code, err := play(run, *memory, *most)
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		code = 1
	}
	os.Exit(code)
}

// play starts the machine, copies its output, and returns the last exit code that is not 0.
func play(run lines, memory int, most time.Duration) (int, error) {
	if len(run) == 0 || flag.NArg() > 0 {
		return 0, errors.New("say what to run: -run 'PROGRAM ARGUMENTS'")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return 0, err
	}
	from, err := fetch(filepath.Join(cache, "hamadryad", "machine"))
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "hamadryad-machine-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	disk := filepath.Join(folder, "initramfs")
	content, err := fill(run, from.busybox)
	if err == nil {
		err = os.WriteFile(disk, content, 0o600)
	}
	if err != nil {
		return 0, err
	}
	ctx, uncaught := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer uncaught()
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", accelerator(), "-cpu", "max", "-smp", "2", "-m", strconv.Itoa(memory),
		"-nodefaults", "-no-reboot", "-display", "none", "-vga", "none", "-serial", "stdio",
		"-kernel", from.kernel, "-initrd", disk, "-append", "console=ttyS0 quiet loglevel=1 panic=-1 random.trust_cpu=on")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // processor shares also depend on the session
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	hurry(cmd.Process.Pid)
	code, err := follow(out, os.Stdout)
	fmt.Fprintln(os.Stderr, waited(cmd.Process.Pid))
	if ended := cmd.Wait(); err != nil {
		return 0, errors.Join(err, ended, ctx.Err())
	}
	return code, nil
}

// emulation is QEMU's accelerator without help of the processor.
const emulation = "tcg"

// accelerator is KVM where the processor has what Debian's kernel needs. On some hosts /dev/kvm
// runs only the host's own kernels.
func accelerator() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	if regexp.MustCompile(`(?m)^flags\s*:.*\b(vmx|svm)\b`).Match(info) {
		if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
			f.Close()
			return "kvm"
		}
	}
	return emulation
}

// fill makes the machine's file system.
func fill(run lines, busybox string) ([]byte, error) {
	a := &archive{}
	for _, f := range []string{"bin", "dev", "etc", "proc", "root", "sys", "tmp", "usr", "var", "var/lib", "var/tmp"} {
		a.folder(f)
	}
	a.file("etc/passwd", 0o644, []byte("root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/:/bin/sh\ngames:x:5:60::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"))
	a.file("etc/group", 0o644, []byte("root:x:0:\ndaemon:x:1:\ngames:x:60:\nnogroup:x:65534:\n"))
	commands, programs := "", map[string]string{"busybox": busybox}
	for _, line := range run {
		program, args, _ := strings.Cut(line, " ")
		name := filepath.Base(program)
		programs[name] = program
		commands += fmt.Sprintf("/bin/%s %s || code=$?\n", name, args)
	}
	for name, path := range programs {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		a.file("bin/"+name, 0o755, content)
	}
	a.file("init", 0o755, []byte(fmt.Sprintf(initScript, commands, lastWords)))
	return a.end(), nil
}

// lastWords is the text that the machine prints before the last exit code that is not 0.
const lastWords = "machine: ended with "

// initScript is the machine's first process: it sets up a minimal system and runs the programs.
const initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
chmod 1777 /var/tmp
ip link set lo up
cd /root
uname -srv
code=0
%secho "%s$code"
poweroff -f
`

// follow copies the machine's output, and finds the last exit code that is not 0.
func follow(from io.Reader, to io.Writer) (int, error) {
	printed := bufio.NewReader(from)
	for {
		line, err := printed.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if code, ended := strings.CutPrefix(line, lastWords); ended {
			return strconv.Atoi(code)
		}
		fmt.Fprintln(to, line)
		if err != nil {
			return 0, fmt.Errorf("the machine ended without a word: %w", err)
		}
	}
}
