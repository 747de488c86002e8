package config

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Config is a whole configuration. Zero durations and sizes never occur in a
// loaded one unless their comment says so.
type Config struct {
	Manager  Manager  `koanf:"manager"`
	Launcher Launcher `koanf:"launcher"`
	Policy   Policy   `koanf:"policy"`
	Auth     Auth     `koanf:"auth"`
	Log      Log      `koanf:"log"`
	Limits   Limits   `koanf:"limits"`
	// Core are the bounds of the manager's core by the names of core.Settings; a missing key has
	// its default.
	Core map[string]any `koanf:"core"`

	// Access is the text of the section auth. Its lists of rights (AccessKeys) are read by package
	// access.
	Access scheduler.Config `koanf:"-"`

	// File is the configuration's file, "" when there was none.
	File string `koanf:"-"`
	// Watched are all files of the configuration, File included.
	Watched []string `koanf:"-"`

	// Texts are the contents of the files in Watched, by name.
	Texts map[string][]byte `koanf:"-"`

	places places
	over   places            // places in the file of keys that another source overrides
	lists  map[string]string // texts of AccessKeys, by key
	values map[string]any    // by key, as they were given
}

// Manager are the manager's settings.
type Manager struct {
	Listen   string   `koanf:"listen" validate:"address"` // gRPC
	HTTP     string   `koanf:"http" validate:"address"`   // metrics
	Socket   string   `koanf:"socket"`                    // path of a Unix socket, where the kernel identifies the caller; "": none
	Data     string   `koanf:"data" validate:"required"`  // folder
	EventLog EventLog `koanf:"eventLog"`
	Audit    Audit    `koanf:"audit"`
	Web      Web      `koanf:"web"`
	Versions int      `koanf:"versions" validate:"min=1,max=10000"` // of the configuration that are kept
	History  History  `koanf:"history"`
	Programs Size     `koanf:"programs" validate:"min=1048576"` // bound of the stored programs and plans
	// Heartbeat is the period of launchers' heartbeats. A launcher without a message for Lease ends
	// its workers. The manager declares a launcher lost after LauncherLostAfter without a
	// heartbeat.
	Heartbeat         time.Duration `koanf:"heartbeat" validate:"min=50ms,max=1m"`
	Lease             time.Duration `koanf:"lease" validate:"gtfield=Heartbeat"`
	LauncherLostAfter time.Duration `koanf:"launcherLostAfter" validate:"gtfield=Lease"`
	// IdleShownAfter is after how long without progress an attempt is named in its job's status.
	IdleShownAfter time.Duration `koanf:"idleShownAfter" validate:"min=1s"`
	SlotKinds      []string      `koanf:"slotKinds" validate:"dive,required"` // declared by the site; empty: the kinds that launchers bring
	Seed           uint64        `koanf:"seed"`                               // for policies that draw lots
}

// Web are the settings of the manager's HTTP address for browsers and programs.
type Web struct {
	Actions string   `koanf:"actions" validate:"oneof=on off"` // off: no changes over HTTP
	Hosts   []string `koanf:"hosts" validate:"dive,hostname"`  // host names of the address, besides its IP addresses, localhost and the machine's own name
}

// EventLog are the settings of the manager's event log.
type EventLog struct {
	Sync     bool `koanf:"sync"`                             // wait for the disk; without, a crash of the machine can lose the last moments
	FileSize Size `koanf:"fileSize" validate:"min=65536"`    // after which the next file is begun
	Keep     int  `koanf:"keep" validate:"min=2,max=100000"` // files
	KeepSize Size `koanf:"keepSize" validate:"min=65536"`    // of all files together
	// FreezeMax bounds the core's pause for a checkpoint, as the manager estimates it. If a state
	// would take longer, another process makes the checkpoint from the event log.
	FreezeMax time.Duration `koanf:"freezeMax" validate:"min=1ns,max=1m"`
}

// Audit are the settings of the manager's audit log of changes and refusals.
type Audit struct {
	Uploads  bool `koanf:"uploads"`                          // also log programs and plans that arrived complete; refused ones are always logged
	FileSize Size `koanf:"fileSize" validate:"min=65536"`    // after which the next file is begun
	Keep     int  `koanf:"keep" validate:"min=1,max=100000"` // files that are full
}

// History are the settings of what the manager keeps of ended jobs.
type History struct {
	Folder      string        `koanf:"folder"`                                    // "": history below the manager's data
	Store       string        `koanf:"store"`                                     // URL of a copy, on HDFS say, from which missing files are restored; "": none
	KeepFor     time.Duration `koanf:"keepFor" validate:"min=1m"`                 // after a job's end
	JobsMax     int           `koanf:"jobsMax" validate:"min=1,max=10000000"`     // that ended
	BytesMax    Size          `koanf:"bytesMax" validate:"min=1048576"`           // of their files
	AttemptsMax int           `koanf:"attemptsMax" validate:"min=1,max=10000000"` // of a job; above it failures and the slowest attempts are kept
	Tails       Tails         `koanf:"tails"`
}

// Tails are the settings of the ends of attempts' logs, which launchers send to the manager.
type Tails struct {
	Bytes        Size `koanf:"bytes" validate:"max=1048576"`       // of a log; 0: none are sent
	FailedBytes  Size `koanf:"failedBytes" validate:"max=1048576"` // of the log of an attempt that failed; 0: none are sent
	JobBytes     Size `koanf:"jobBytes" validate:"min=65536"`      // of a job's file; beyond it only failed attempts' are kept, up to twice as much
	BytesASecond Size `koanf:"bytesASecond" validate:"min=65536"`  // that the manager takes from all launchers
}

// Launcher are a launcher's settings.
type Launcher struct {
	Manager string   `koanf:"manager" validate:"address"`                                   // that it joins
	Name    string   `koanf:"name"`                                                         // "": the host's name
	Host    string   `koanf:"host"`                                                         // "": the machine's
	Names   []string `koanf:"names" validate:"max=64,dive,required"`                        // further names and addresses of the machine; empty and no host: its addresses
	Rack    string   `koanf:"rack"`                                                         // of the machine; "": none
	Slots   Slots    `koanf:"slots" validate:"dive,keys,required,endkeys,min=0,max=100000"` // empty: one default slot a core
	Memory  Size     `koanf:"memory"`                                                       // 0: most of the machine's
	Swap    Size     `koanf:"swap"`                                                         // for memory of suspended attempts
	// Resources are countable resources of the machine, such as {gpu: 4, license-x: 10}. Groups that
	// ask for some get the indices of theirs
	Resources Resources `koanf:"resources"`
	// SuspensionFrees are the kinds of resources that suspension of an attempt frees for others;
	// they have no indices
	SuspensionFrees []string `koanf:"suspensionFrees"`
	Cores           int      `koanf:"cores" validate:"min=0,max=1048576"`  // processor cores that groups may ask for; 0: cores are not counted
	Data            string   `koanf:"data" validate:"required"`            // folder for stored outputs, logs and temporary files; each launcher has its own
	Cache           string   `koanf:"cache"`                               // folder of programs; "": below Data
	Bind            string   `koanf:"bind" validate:"required"`            // address that its ports listen on
	DataPort        int      `koanf:"dataPort" validate:"min=0,max=65535"` // of the store; 0: any free one
	HTTPPort        int      `koanf:"httpPort" validate:"min=0,max=65535"` // of metrics and logs; 0: any free one
	// ChannelPorts are the ports on which workers listen for tcp channels, such as 20000-20999: one
	// for each group that reads such channels at the same time; "": any free ones
	ChannelPorts string `koanf:"channelPorts"`
	Store        Size   `koanf:"programs" validate:"min=1048576"` // bound of the cached programs
	Logs         Size   `koanf:"logs" validate:"min=65536"`       // bound of all attempts' logs
	LogSize      Size   `koanf:"attemptLog" validate:"min=4096"`  // bound of one attempt's log
	// LogsMax bounds the number of kept logs of attempts, and LogsKeepFor the time after an
	// attempt's end. They survive a restart of the launcher.
	LogsMax     int           `koanf:"logsMax" validate:"min=1,max=10000000"`
	LogsKeepFor time.Duration `koanf:"logsKeepFor" validate:"min=1m"`
	Idle        time.Duration `koanf:"workerIdle" validate:"min=1ms"`                 // a warm worker without work ends
	Suspend     string        `koanf:"suspend" validate:"oneof=auto freezer signals"` // how attempts are suspended
	// SpillMax bounds the bytes of one shm channel, and of all tcp channels that a group reads,
	// that wait on the launcher's disk for a slow reader.
	SpillMax Size `koanf:"spillMax" validate:"min=65536"`

	Isolation Isolation `koanf:"isolation"`
}

// Isolation says as which user a launcher's workers run, and in which sandbox.
type Isolation struct {
	User      string   `koanf:"user" validate:"oneof=none submitter"`       // none: as the launcher
	LeastUID  int      `koanf:"leastUID" validate:"min=1,max=2147483647"`   // smaller user ids run nothing
	Allow     []string `koanf:"allow" validate:"max=1000,dive,required"`    // users that may run work; empty: all
	Deny      []string `koanf:"deny" validate:"max=1000,dive,required"`     // users that may not run work
	Temporary Size     `koanf:"temporary" validate:"min=1048576"`           // of a worker's /tmp
	Processes int      `koanf:"processes" validate:"min=64,max=4194304"`    // of a user on the machine, and of a worker where cgroup limits it, threads included
	OpenFiles int      `koanf:"openFiles" validate:"min=64,max=1073741816"` // of a process
	Groups    []string `koanf:"groups" validate:"max=100,dive,required"`    // groups that a worker is in if its user is, beside the user's own
	Calls     []string `koanf:"calls" validate:"max=100,dive,required"`     // system calls that a worker may make in spite of isolation
	Cgroup    string   `koanf:"cgroup" validate:"required"`                 // parent of the workers' cgroups with limits: auto, none or a folder
}

// Policy names the policy, and configures its supervision.
type Policy struct {
	Name     string `koanf:"name" validate:"required_without=Path"`            // the one name of the policy everywhere; fifo is the program hamadryad-policy-fifo
	Path     string `koanf:"path"`                                             // of the plug-in; "": found by name
	Folder   string `koanf:"folder"`                                           // where plug-ins are; "": beside hamadryad
	Checksum string `koanf:"checksum" validate:"omitempty,len=64,hexadecimal"` // SHA-256 of the plug-in, in hexadecimal; "": any is started
	// Environment are names of the manager's variables that the plug-in gets, beside those for the
	// paths of programs, time zones and temporary files.
	Environment []string `koanf:"environment" validate:"max=1000,dive,required"`
	// Files are handed to the policy with its settings, and watched. Relative
	// names are below the configuration file's folder.
	Files          []string      `koanf:"files"`
	StartTimeout   time.Duration `koanf:"startTimeout" validate:"min=1s"`        // how long the plug-in may take to start and to take its settings
	RoundDeadline  time.Duration `koanf:"roundDeadline" validate:"min=10ms"`     // bound of the answer to a round; then the policy is restarted
	FailuresMax    int           `koanf:"failuresMax" validate:"min=1,max=1000"` // within FailuresWindow; then the fallback, the FIFO in the manager, takes over
	FailuresWindow time.Duration `koanf:"failuresWindow" validate:"min=1s"`      // see failuresMax
	SlowRound      time.Duration `koanf:"slowRound" validate:"min=1ms"`          // a round that takes longer is reported in log, status and metrics
	Memory         Size          `koanf:"memory"`                                // for the plug-in and its child processes; 0: half of the machine's
	Store          string        `koanf:"store"`                                 // folder granted to the plug-in; "": none
	Trace          string        `koanf:"trace"`                                 // trace file granted to it; "": none
	Transport      string        `koanf:"transport" validate:"oneof=auto grpc"`  // of rounds: auto is a socket of their own if the plug-in knows of it, else gRPC

	// Shadow are names of policies that decide on the same rounds without effect, and are compared
	// with the policy in force. Each has its settings below policy.shadowSettings, by its name.
	Shadow []string `koanf:"shadow" validate:"max=4,unique,dive,required,excludes=/"`
	// ShadowFiles are as files, by name of a shadow.
	ShadowFiles map[string][]string `koanf:"shadowFiles"`
	// ShadowInterval is the least time between two rounds of a shadow. The rounds in between are
	// joined, and the shadow decides on their last. 0s: it decides on each.
	ShadowInterval time.Duration `koanf:"shadowInterval" validate:"min=0,max=1s"`

	// Config is the policy's configuration: the text below policy.settings, and Files.
	Config scheduler.Config `koanf:"-"`
	// ShadowConfigs are the texts below policy.shadowSettings, by name of a policy.
	ShadowConfigs map[string]scheduler.Config `koanf:"-"`
}

// Auth says how processes authenticate.
type Auth struct {
	Mode        string `koanf:"mode" validate:"oneof=off tls"` // off: user names are not proved, and all addresses must be loopback
	Cluster     string `koanf:"cluster"`                       // cluster of the certificates; "": that of the process's own
	CA          string `koanf:"ca"`                            // file; "": ca.pem beside Certificate
	Certificate string `koanf:"certificate"`                   // file
	Key         string `koanf:"key"`                           // file; "": as Certificate, with the ending .key
	// Join is the address at which launchers get and renew certificates: a manager with CAKey
	// listens there. "": nowhere.
	Join  string `koanf:"join" validate:"omitempty,address"`
	CAKey string `koanf:"caKey"` // file, for a manager that signs launchers; "": it signs none
	Token string `koanf:"token"` // a launcher's token, or a file with it, while there is no file Certificate yet
	OIDC  OIDC   `koanf:"oidc"`

	Kerberos Kerberos `koanf:"kerberos"`
}

// OIDC says whose bearer tokens authenticate users without a certificate. Package engine/auth/oidc
// says what each key means, and checks it.
type OIDC struct {
	Issuer       string `koanf:"issuer"`       // URL; "": only certificates authenticate users
	Audience     string `koanf:"audience"`     // that a token must be for
	NameClaim    string `koanf:"nameClaim"`    // claim of a token that has the user's name
	NamePrefix   string `koanf:"namePrefix"`   // put before that name
	GroupsClaim  string `koanf:"groupsClaim"`  // claim of a token that has the user's groups
	GroupsPrefix string `koanf:"groupsPrefix"` // put before their names
	CA           string `koanf:"ca"`           // file; "": the system's certificates
}

// Kerberos says how the manager treats principals and tickets.
type Kerberos struct {
	// Keytab is the file with the manager's own keys, of a service hamadryad/HOST: with it users
	// prove themselves by their tickets. "": they don't.
	Keytab string `koanf:"keytab"`
	// Realms are the realms whose principals are users: ann@REALM is ann. Jobs may carry tickets of
	// these realms. Empty: none.
	Realms []string `koanf:"realms" validate:"max=16,dive,required,max=256"`
}

// ActionsOff is the value of manager.web.actions that forbids changes over HTTP.
const ActionsOff = "off"

// Modes of Auth.
const (
	AuthOff = "off"
	AuthTLS = "tls"
)

// Limits bound one address's or one user's share of a process, so that the others get theirs.
type Limits struct {
	// Networks are the networks in which one address stands for many machines. Each of their
	// addresses may have as much as loopback.
	Networks  []string `koanf:"networks" validate:"max=256,dive,cidr"`
	Address   int      `koanf:"address" validate:"min=8,max=100000"`   // unauthenticated connections of one address
	Network   int      `koanf:"network" validate:"min=8,max=100000"`   // likewise of loopback, and of an address in Networks
	Principal int      `koanf:"principal" validate:"min=8,max=100000"` // connections, or requests over HTTP, of one user or launcher

	UserStreams  int  `koanf:"userStreams" validate:"min=1,max=1000"`     // streams of events, and followed logs, of one user
	UserUploads  int  `koanf:"userUploads" validate:"min=1,max=32"`       // programs and plans that one user sends at once; further ones wait
	UserPrograms Size `koanf:"userPrograms" validate:"min=1048576"`       // of all programs and plans that one user sent
	UserTails    Size `koanf:"userTails" validate:"min=65536"`            // of the ends of logs of one user's attempts; beyond it only failed attempts' are kept, up to twice as much
	UploadRate   Size `koanf:"uploadRate" validate:"min=1,max=104857600"` // least bytes per second of an upload
}

// Log are the settings of the processes' own logs.
type Log struct {
	Level  string `koanf:"level" validate:"oneof=debug info warn error"` // the least level of lines in the process's log
	Format string `koanf:"format" validate:"oneof=text json"`            // of lines in the process's log
}

// defaults are in the form of the file.
func defaults() map[string]any {
	return map[string]any{
		"manager.listen":             "127.0.0.1:7070",
		"manager.http":               "127.0.0.1:7071",
		"manager.socket":             "",
		"manager.data":               "hamadryad-data/manager",
		"manager.eventLog.sync":      true,
		"manager.eventLog.fileSize":  "64MiB",
		"manager.eventLog.keep":      16,
		"manager.eventLog.keepSize":  "4GiB",
		"manager.eventLog.freezeMax": "5ms",
		"manager.audit.uploads":      false,
		"manager.audit.fileSize":     "16MiB",
		"manager.audit.keep":         16,
		"manager.web.actions":        "on",
		"manager.web.hosts":          []string{},
		"manager.versions":           50,
		"manager.programs":           "16GiB",
		"manager.heartbeat":          "500ms",
		"manager.lease":              "10s",
		"manager.launcherLostAfter":  "20s",
		"manager.idleShownAfter":     "1m",
		"manager.slotKinds":          []string{},
		"manager.seed":               1,
		"launcher.manager":           "127.0.0.1:7070",
		"launcher.name":              "",
		"launcher.host":              "",
		"launcher.names":             []string{},
		"launcher.rack":              "",
		"launcher.slots":             map[string]any{},
		"launcher.memory":            0,
		"launcher.swap":              0,
		"launcher.resources":         map[string]any{},
		"launcher.suspensionFrees":   []string{},
		"launcher.cores":             0,
		"launcher.data":              "hamadryad-data/launcher",
		"launcher.cache":             "",
		"launcher.bind":              "127.0.0.1",
		"launcher.dataPort":          0,
		"launcher.httpPort":          0,
		"launcher.channelPorts":      "",
		"launcher.programs":          "16GiB",
		"launcher.logs":              "1GiB",
		"launcher.attemptLog":        "8MiB",
		"launcher.logsMax":           20_000,
		"launcher.logsKeepFor":       "168h",
		"launcher.workerIdle":        "30s",
		"launcher.suspend":           "auto",
		"launcher.spillMax":          "64GiB",
		"policy.name":                "fifo",
		"policy.path":                "",
		"policy.folder":              "",
		"policy.checksum":            "",
		"policy.environment":         []string{},
		"policy.files":               []string{},
		"policy.startTimeout":        "30s",
		"policy.roundDeadline":       "10s",
		"policy.failuresMax":         5,
		"policy.failuresWindow":      "1m",
		"policy.slowRound":           "1s",
		"policy.memory":              0,
		"policy.store":               "",
		"policy.trace":               "",
		"policy.transport":           "auto",
		"policy.shadow":              []string{},
		"policy.shadowFiles":         map[string]any{},
		"policy.shadowInterval":      "100ms",
		"auth.mode":                  AuthOff,
		"auth.cluster":               "",
		"auth.ca":                    "",
		"auth.certificate":           "",
		"auth.key":                   "",
		"auth.join":                  "",
		"auth.caKey":                 "",
		"auth.token":                 "",
		"auth.kerberos.keytab":       "",
		"auth.kerberos.realms":       []string{},
		"auth.oidc.issuer":           "",
		"auth.oidc.audience":         "",
		"auth.oidc.nameClaim":        "sub",
		"auth.oidc.namePrefix":       "",
		"auth.oidc.groupsClaim":      "groups",
		"auth.oidc.groupsPrefix":     "",
		"auth.oidc.ca":               "",
		"limits.networks":            []string{},
		"limits.address":             256,
		"limits.network":             1024,
		"limits.principal":           512,
		"limits.userStreams":         100,
		"limits.userUploads":         8,
		"limits.userPrograms":        "4GiB",
		"limits.userTails":           "4GiB",
		"limits.uploadRate":          "16KiB",
		"log.level":                  "info",
		"log.format":                 "text",

		"manager.history.folder":      "",
		"manager.history.store":       "",
		"manager.history.keepFor":     "720h",
		"manager.history.jobsMax":     100_000,
		"manager.history.bytesMax":    "10GiB",
		"manager.history.attemptsMax": 1_000_000,

		"manager.history.tails.bytes":        "64KiB",
		"manager.history.tails.failedBytes":  "1MiB",
		"manager.history.tails.jobBytes":     "256MiB",
		"manager.history.tails.bytesASecond": "16MiB",

		"launcher.isolation.user":      "none",
		"launcher.isolation.leastUID":  1000,
		"launcher.isolation.allow":     []string{},
		"launcher.isolation.deny":      []string{},
		"launcher.isolation.temporary": "64MiB",
		"launcher.isolation.processes": 4096,
		"launcher.isolation.openFiles": 65536,
		"launcher.isolation.groups":    []string{},
		"launcher.isolation.calls":     []string{},
		"launcher.isolation.cgroup":    "auto",
	}
}
