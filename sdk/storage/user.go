package storage

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
)

// UserVariable is the environment variable that names the user where no authentication proves a
// user, as for Hadoop's own programs.
const UserVariable = "HADOOP_USER_NAME"

// User returns the name under which files are made and jobs submitted where no authentication
// proves a user. That is UserVariable's, then the first of otherwise that is not empty, then the
// system's user. A job's submitter and its workers make files, so all must call it. It fails if
// none of them has a name.
func User(otherwise ...string) (string, error) {
	if name := cmp.Or(append([]string{os.Getenv(UserVariable)}, otherwise...)...); name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err == nil && u.Username == "" {
		err = fmt.Errorf("user %s has no name", u.Uid)
	}
	if err != nil {
		return "", fmt.Errorf("who runs this: %w; set %s", err, UserVariable)
	}
	return u.Username, nil
}
