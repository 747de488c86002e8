package access

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Rule says which callers may make a request, and on which subject.
type Rule struct {
	Open  bool      // anybody may: the answer is harmless, or the handler proves the caller itself
	Kind  auth.Kind // the kind of certificate that is needed, unless the rule is open
	Roles []Role    // of a user, one is enough
	On    Subject   // a further condition, judged where the subject is known
	// Changes marks a request that is written into the audit, and refused while that can't be
	// written. Where only some requests of a route change something (a policy's pages), the handler
	// says so.
	Changes bool
	What    string // in words, behind "may not"
}

// Subject is the object of a request.
type Subject string

// The subjects. Behind each is what is judged besides the role.
const (
	Cluster  Subject = "cluster"  // nothing
	AnyJob   Subject = "job"      // CheckRead for a look at it, Change for what ends or changes it
	AnyPool  Subject = "pool"     // Submit
	JobList  Subject = "jobs"     // jobs are left out that MayRead refuses
	Machine  Subject = "launcher" // the launcher's name is that of its certificate
	Page     Subject = "page"     // the policy decides
	Yourself Subject = "yourself" // other users are shown only to callers who may look at everything
)

var (
	anyRole   = Roles
	watching  = []Role{Viewer, Operator, Administrator}
	working   = []Role{User, Administrator}
	operating = []Role{Operator, Administrator}
	notLooks  = []Role{User, Operator, Administrator}

	administering = []Role{Administrator}
)

// rules has a rule for each gRPC method, by full name. It also has one for each HTTP route of
// managers and launchers, by its pattern with the side before it. It is one table, so that people
// can read it. A request that is not in it is refused, and a test walks all requests there are.
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
	"/hamadryad.engine.v1.Manager/Retry":        {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "retry elements of a job"},
	"/hamadryad.engine.v1.Manager/Elements":     {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "list a job's elements"},
	"/hamadryad.engine.v1.Manager/Update":       {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "change a job"},
	"/hamadryad.engine.v1.Manager/Launchers":    {Kind: auth.User, Roles: anyRole, On: Cluster, What: "list launchers"},
	"/hamadryad.engine.v1.Manager/Drain":        {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},
	"/hamadryad.engine.v1.Manager/Policy":       {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the policy"},
	"/hamadryad.engine.v1.Manager/PolicyPage":   {Kind: auth.User, Roles: anyRole, On: Page, What: "ask for the policy's pages"},
	"/hamadryad.engine.v1.Manager/ReloadPolicy": {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "reload the policy"},
	"/hamadryad.engine.v1.Manager/Settings":     {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration"},
	// Only administrators check, change and read a configuration as text. It names programs that
	// the manager runs, and may have text that only its author should read.
	"/hamadryad.engine.v1.Manager/DiffSettings":     {Kind: auth.User, Roles: administering, On: Cluster, What: "check a configuration"},
	"/hamadryad.engine.v1.Manager/ApplySettings":    {Kind: auth.User, Roles: administering, On: Cluster, Changes: true, What: "change the configuration"},
	"/hamadryad.engine.v1.Manager/SettingsVersions": {Kind: auth.User, Roles: watching, On: Cluster, What: "look at the configuration's versions"},
	"/hamadryad.engine.v1.Manager/Audit":            {Kind: auth.User, Roles: watching, On: Cluster, What: "read the audit"},
	"/hamadryad.engine.v1.Manager/Pages":            {Kind: auth.User, Roles: anyRole, On: Cluster, What: "ask where the pages are"},
	"/hamadryad.engine.v1.Manager/Access":           {Kind: auth.User, Roles: anyRole, On: Yourself, What: "ask who may do what"},

	"/hamadryad.engine.v1.Manager/AddSchedule":    {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "add a schedule"},
	"/hamadryad.engine.v1.Manager/Schedules":      {Kind: auth.User, Roles: anyRole, On: Yourself, What: "list schedules"},
	"/hamadryad.engine.v1.Manager/ChangeSchedule": {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},
	"/hamadryad.engine.v1.Manager/TakeRun":        {Kind: auth.User, Roles: working, On: Yourself, What: "run what is scheduled"},
	"/hamadryad.engine.v1.Manager/EndRun":         {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "run what is scheduled"},

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
	"manager POST /jobs/{job}/retry":           {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "retry elements of a job"},
	"manager POST /jobs/{job}/update":          {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "change a job"},
	"manager POST /launchers/{launcher}/drain": {Kind: auth.User, Roles: operating, On: Cluster, Changes: true, What: "drain launchers"},

	"manager GET /schedules":                            {Kind: auth.User, Roles: anyRole, On: Yourself, What: "list schedules"},
	"manager GET /schedules/{owner}/{schedule}":         {Kind: auth.User, Roles: anyRole, On: Yourself, What: "look at a schedule"},
	"manager POST /schedules/{owner}/{schedule}/change": {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},

	"manager GET /api/v1/schedules":                             {Kind: auth.User, Roles: anyRole, On: Yourself, What: "list schedules"},
	"manager GET /api/v1/schedules/{owner}/{schedule}":          {Kind: auth.User, Roles: anyRole, On: Yourself, What: "look at a schedule"},
	"manager PUT /api/v1/schedules/{owner}/{schedule}":          {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "add a schedule"},
	"manager DELETE /api/v1/schedules/{owner}/{schedule}":       {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},
	"manager PUT /api/v1/schedules/{owner}/{schedule}/pause":    {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},
	"manager DELETE /api/v1/schedules/{owner}/{schedule}/pause": {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},
	"manager POST /api/v1/schedules/{owner}/{schedule}/run":     {Kind: auth.User, Roles: working, On: Yourself, Changes: true, What: "change a schedule"},

	"manager GET /users":        {Kind: auth.User, Roles: anyRole, On: Yourself, What: "look at limits of users"},
	"manager GET /api/v1/users": {Kind: auth.User, Roles: anyRole, On: Yourself, What: "look at limits of users"},

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
	"manager GET /api/v1/jobs/{job}/elements":           {Kind: auth.User, Roles: anyRole, On: AnyJob, What: "look at a job"},
	"manager POST /api/v1/jobs/{job}/retry":             {Kind: auth.User, Roles: working, On: AnyJob, Changes: true, What: "retry elements of a job"},
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
	// A launcher knows no roles and no owners: it asks the manager whether a user has a role
	// (MayLook). Users read logs through the manager.
	"launcher GET /{$}":            {Kind: auth.User, Roles: anyRole, On: Cluster, What: "look at the launcher's pages"},
	"launcher GET /metrics":        {Kind: auth.User, Roles: anyRole, On: Cluster, What: "read metrics"},
	"launcher GET /debug/pprof/":   {Kind: auth.Manager, On: Cluster, What: "take profiles of a launcher"},
	"launcher GET /logs/{attempt}": {Kind: auth.Manager, On: AnyJob, What: "read what an attempt printed"},
}

// ManagerRoute and LauncherRoute name a route of HTTP as RuleOf takes it, by its pattern.
func ManagerRoute(pattern string) string { return "manager " + pattern }

// LauncherRoute is ManagerRoute for a route of a launcher.
func LauncherRoute(pattern string) string { return "launcher " + pattern }

// RuleOf returns the rule of a method or route. False: there is no rule, and the request must be
// refused.
func RuleOf(request string) (Rule, bool) {
	r, ok := rules[request]
	return r, ok
}

// MayChange lists the roles that may change something through a policy's page, as far as the policy
// itself allows.
func MayChange() []Role { return notLooks }

// Requests lists all requests that have a rule, in order.
func Requests() []string { return slices.Sorted(maps.Keys(rules)) }
