package storage

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
)

// UserVariable is the environment variable that names the user where nothing proves
// who it is, as for Hadoop's own programs.
const UserVariable = "HADOOP_USER_NAME"

// User is the name that files are made and jobs submitted under where nothing proves
// who it is: that of UserVariable, then the first of otherwise that is not empty, then
// the system's user who runs the program. A job's files are made by the submitter and
// by its workers, so all must ask here. It fails if none of them has a name.
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
