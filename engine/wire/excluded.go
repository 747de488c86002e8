package wire

import (
	"fmt"
	"strings"
	"time"
)

// jobsNamed is how many of the jobs are named for which a launcher is excluded.
const jobsNamed = 5

// WhyExcluded says for which jobs a launcher is excluded, and until when; "" when it is not.
func WhyExcluded(l *LauncherStatus) string {
	if l.GetExcludedUntil() == 0 {
		return ""
	}
	var jobs []string
	for i, id := range l.ExcludedFor {
		if i == jobsNamed {
			jobs = append(jobs, fmt.Sprintf("%d more", len(l.ExcludedFor)-i))
			break
		}
		jobs = append(jobs, fmt.Sprintf("job-%d", id))
	}
	return fmt.Sprintf("attempts of %s failed there: excluded until %s", strings.Join(jobs, ", "), time.Unix(0, l.ExcludedUntil).Local().Format("15:04:05"))
}
