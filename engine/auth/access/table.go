package access

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Rule says who may make a request, and on what.
type Rule struct {
	Open  bool      // anybody may: it tells nothing that matters, or proves who asks by itself
	Kind  auth.Kind // whose certificate it takes, unless it is open
	Roles []Role    // of a user, one is enough
	On    Subject   // what it depends on besides, judged where that is known
	// Changes says that it is written into the audit, and refused while that can't be
	// written. What only some requests change (a policy's pages) is told by the handler.
	Changes bool
	What    string // in words, behind "may not"
}

// Subject is what a request is about.
type Subject string

// The subjects. What is judged of them besides the role stands behind each.
const (
	Cluster  Subject = "cluster"  // nothing
	AnyJob   Subject = "job"      // Read for what looks at it, Change for what ends or changes it
	AnyPool  Subject = "pool"     // Submit
	JobList  Subject = "jobs"     // those are left out that Read would refuse
	Machine  Subject = "launcher" // the launcher's name is that of its certificate
	Page     Subject = "page"     // the policy's word
	Yourself Subject = "yourself" // others are shown to who may look at everything
)

var (
	anyRole   = Roles
	watching  = []Role{Viewer, Operator, Administrator}
	working   = []Role{User, Administrator}
	operating = []Role{Operator, Administrator}
	notLooks  = []Role{User, Operator, Administrator}

	administering = []Role{Administrator}
)

// rules has a rule for each method of gRPC, by full name, and for each route of the manager's and
// the launchers' HTTP, by its pattern with the side before it. There is one table so that it
// can be read: a request that is not in it is refused, and a test walks all there are.
var rules = map[string]Rule{
	"/hamadryad.engine.v1.Manager/Prepare":      {Kind: auth.User, Roles: working, On: Cluster, What: "announce a job"},
	"/hamadryad.engine.v1.Manager/Submit":       {Kind: auth.User, Roles: working, On: AnyPool, Changes: true, What: "submit a job"},
	"/hamadryad.engine.v1.Manager/HasBlob":      {Kind: auth.User, Roles: working, On: Cluster, What: "ask for programs"},
	"/hamadryad.engine.v1.Manager/PutBlob":      {Kind: auth.User, Roles: working, On: Cluster, Changes: true, What: "send a program"},
	"/hamadryad.engine.v1.Manager/Watch":        {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "watch a job"},
	"/hamadryad.engine.v1.Manager/Jobs":         {Kind: auth.User, Roles: anyRole, On: JobList, What: "list jobs"},
	"/hamadryad.engine.v1.Manager/Status":       {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"/hamadryad.engine.v1.Manager/Logs":         {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "read what a job printed"},
	"/hamadryad.engine.v1.Manager/Kill":         {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "kill a job"},
	"/hamadryad.engine.v1.Manager/Update":       {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "change a job"},
	"/hamadryad.engine.v1.Manager/Launchers":    {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"/hamadryad.engine.v1.Manager/Drain":        {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},
	"/hamadryad.engine.v1.Manager/Policy":       {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the policy"},
	"/hamadryad.engine.v1.Manager/PolicyPage":   {Kind: auth.User, Roles: anyRole, On: Page, What: "ask for the policy's pages"},
	"/hamadryad.engine.v1.Manager/ReloadPolicy": {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "reload the policy"},
	"/hamadryad.engine.v1.Manager/Settings":     {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration"},
	// A configuration names programs that the manager runs, and its text may have what only its
	// author should read. So it is checked, changed and read as a text by administrators alone.
	"/hamadryad.engine.v1.Manager/DiffSettings":     {Kind: auth.User, Roles: administering, On: Cluster, What: "check a configuration"},
	"/hamadryad.engine.v1.Manager/ApplySettings":    {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"/hamadryad.engine.v1.Manager/SettingsVersions": {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration's versions"},
	"/hamadryad.engine.v1.Manager/Audit":            {Kind: auth.User, Roles: watching, On: Cluster, What: "read the audit"},
	"/hamadryad.engine.v1.Manager/Pages":            {Kind: auth.User, Roles: anyRole, On: Cluster, What: "ask where the pages are"},
	"/hamadryad.engine.v1.Manager/Access":           {Kind: auth.User, Roles: anyRole, On: Yourself, What: "ask who may do what"},

	"/hamadryad.engine.v1.Launchers/Connect":   {Kind: auth.Launcher, On: Machine, Changes: true, What: "join as a launcher"},
	"/hamadryad.engine.v1.Launchers/FetchBlob": {Kind: auth.Launcher, On: Cluster, What: "fetch a program"},
	"/hamadryad.engine.v1.Launchers/MayLook":   {Kind: auth.Launcher, On: Cluster, What: "ask who may look at a launcher's pages"},
	"/hamadryad.engine.v1.Launchers/KeepTails": {Kind: auth.Launcher, On: Machine, What: "send the ends of attempts' logs"},

	"/hamadryad.engine.v1.Managers/Serving": {Kind: auth.Manager, On: Cluster, What: "ask which data the manager uses"},

	"manager GET /{$}":                         {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the cluster"},
	"manager GET /jobs":                        {Kind: auth.User, Roles: anyRole, On: JobList, What: "list jobs"},
	"manager GET /jobs/{job}":                  {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /launchers":                   {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"manager GET /queue":                       {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the queue"},
	"manager GET /pools":                       {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the pools"},
	"manager GET /policy":                      {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the policy"},
	"manager GET /assets/{file}":               {Open: true, On: Cluster, What: "load the pages' style"},
	"manager POST /jobs/{job}/kill":            {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "kill a job"},
	"manager POST /jobs/{job}/update":          {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "change a job"},
	"manager POST /launchers/{launcher}/drain": {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},

	"manager GET /api/v1/openapi.yaml":                  {Open: true, On: Cluster, What: "read the document of the REST interface"},
	"manager GET /api/v1/cluster":                       {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the cluster"},
	"manager GET /api/v1/events":                        {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "hear what changes"},
	"manager GET /api/v1/jobs":                          {Kind: auth.User, Roles: anyRole, On: JobList, What: "list jobs"},
	"manager GET /api/v1/jobs/{job}":                    {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/jobs/{job}/attempts":           {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/jobs/{job}/distribution":       {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/jobs/{job}/graph":              {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/jobs/{job}/timeline":           {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/jobs/{job}/reasons":            {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /api/v1/queue":                         {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the queue"},
	"manager GET /api/v1/pools":                         {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the pools"},
	"manager GET /api/v1/pools/series":                  {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the pools"},
	"manager GET /api/v1/policy":                        {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the policy"},
	"manager GET /api/v1/policy/decisions":              {Kind: auth.User, Roles: anyRole, On: JobList, What: "look at the policy's decisions"},
	"manager PATCH /api/v1/jobs/{job}":                  {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "change a job"},
	"manager POST /api/v1/jobs/{job}/kill":              {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "kill a job"},
	"manager GET /api/v1/launchers":                     {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"manager PUT /api/v1/launchers/{launcher}/drain":    {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},
	"manager DELETE /api/v1/launchers/{launcher}/drain": {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},

	"manager GET /settings":                           {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration"},
	"manager POST /settings/check":                    {Kind: auth.User, Roles: administering, On: Cluster, What: "check a configuration"},
	"manager POST /settings/apply":                    {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"manager GET /settings/versions/{version}":        {Kind: auth.User, Roles: administering, On: Cluster, What: "read a version of the configuration"},
	"manager POST /settings/versions/{version}/apply": {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"manager GET /audit":                              {Kind: auth.User, Roles: watching, On: Cluster, What: "read the audit"},

	"manager GET /api/v1/settings":                              {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration"},
	"manager PUT /api/v1/settings":                              {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"manager POST /api/v1/settings/check":                       {Kind: auth.User, Roles: administering, On: Cluster, What: "check a configuration"},
	"manager POST /api/v1/settings/diff":                        {Kind: auth.User, Roles: administering, On: Cluster, What: "check a configuration"},
	"manager GET /api/v1/settings/versions":                     {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration's versions"},
	"manager GET /api/v1/settings/versions/{version}":           {Kind: auth.User, Roles: administering, On: Cluster, What: "read a version of the configuration"},
	"manager POST /api/v1/settings/versions/{version}/rollback": {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"manager GET /api/v1/audit":                                 {Kind: auth.User, Roles: watching, On: Cluster, What: "read the audit"},

	"manager GET /api/v1/jobs/{job}/export":                 {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager GET /launchers/{launcher}":                     {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"manager GET /api/v1/launchers/{launcher}":              {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"manager GET /jobs/{job}/attempts/{attempt}/log":        {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "read what a job printed"},
	"manager GET /api/v1/jobs/{job}/attempts/{attempt}/log": {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "read what a job printed"},

	"manager GET /metrics":      {Kind: auth.User, Roles: anyRole, On: Cluster, What: "read metrics"},
	"manager GET /livez":        {Open: true, On: Cluster, What: "ask whether the manager lives"},
	"manager GET /healthz":      {Open: true, On: Cluster, What: "ask whether the manager lives"},
	"manager GET /readyz":       {Open: true, On: Cluster, What: "ask whether the manager is ready"},
	"manager GET /debug/pprof/": {Kind: auth.User, Roles: administering, On: Cluster, What: "take profiles of the manager"},
	"manager /scheduler":        {Kind: auth.User, Roles: anyRole, On: Page, What: "ask for the policy's pages"},
	"manager /scheduler/":       {Kind: auth.User, Roles: anyRole, On: Page, What: "ask for the policy's pages"},
	"launcher GET /livez":       {Open: true, On: Cluster, What: "ask whether the launcher lives"},
	"launcher GET /healthz":     {Open: true, On: Cluster, What: "ask whether the launcher lives"},
	"launcher GET /readyz":      {Open: true, On: Cluster, What: "ask whether the launcher is ready"},
	// A launcher knows no roles and no owners, and asks the manager whether a user has a role
	// (MayLook). Whoever reads a log asks the manager.
	"launcher GET /{$}":            {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the launcher's pages"},
	"launcher GET /metrics":        {Kind: auth.User, Roles: anyRole, On: Cluster, What: "read metrics"},
	"launcher GET /debug/pprof/":   {Kind: auth.Manager, On: Cluster, What: "take profiles of a launcher"},
	"launcher GET /logs/{attempt}": {Kind: auth.Manager, On: AnyJob, What: "read what an attempt printed"},
}

// ManagerRoute and LauncherRoute name a route of HTTP as RuleOf takes it, by its pattern.
func ManagerRoute(pattern string) string { return "manager " + pattern }

// LauncherRoute is that of a launcher.
func LauncherRoute(pattern string) string { return "launcher " + pattern }

// RuleOf returns the rule of a method or route. False: there is none, and the request is
// to be refused.
func RuleOf(request string) (Rule, bool) {
	r, ok := rules[request]
	return r, ok
}

// MayChange lists the roles that may change something by a policy's page, besides what
// the policy itself says.
func MayChange() []Role { return notLooks }

// Requests lists all that have a rule, in order.
func Requests() []string { return slices.Sorted(maps.Keys(rules)) }
