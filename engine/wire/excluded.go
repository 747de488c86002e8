package wire

import (
	"fmt"
	"strings"
	"time"
)

// jobsNamed bounds the jobs that WhyExcluded names.
const jobsNamed = 5

// WhyExcluded says for which jobs a launcher is excluded, and until when; "" if it is not excluded.
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
