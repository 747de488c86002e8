package logarchive

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// SetUser sets the user of a job. The job's file counts to that user's bound. The user "" has no bound.
func (s *Store) SetUser(k Key, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setUser(k, user)
}

// setUser is SetUser. The caller holds mu.
func (s *Store) setUser(k Key, user string) {
	if before, known := s.owners[k]; known && before == user {
		return
	}
	size := s.files[k.Job][k.Submitted]
	s.addUserBytes(k, -size)
	s.owners[k] = user
	s.addUserBytes(k, size)
}

// addUserBytes adds to the bytes of a job's user. The caller holds mu.
func (s *Store) addUserBytes(k Key, by int64) {
	user := s.owners[k]
	if user == "" || by == 0 {
		return
	}
	if s.users[user] += by; s.users[user] <= 0 {
		delete(s.users, user)
	}
}

// findOwners finds the users of files that existed when the store was opened.
func (s *Store) findOwners() {
	if s.o.User == nil {
		return
	}
	for _, k := range s.Jobs() {
		s.mu.Lock()
		_, known := s.owners[k]
		s.mu.Unlock()
		if known {
			continue
		}
		user := s.o.User(k.Job)
		s.mu.Lock()
		if _, there := s.files[k.Job][k.Submitted]; there && s.owners[k] == "" {
			s.setUser(k, user)
		}
		s.mu.Unlock()
	}
}

// BytesOfUser returns the size of the files of a user's jobs.
func (s *Store) BytesOfUser(user string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users[user]
}

// userBytes returns a job's user, and the size of that user's files.
func (s *Store) userBytes(k Key) (user string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user = s.owners[k]
	return user, s.users[user]
}

// UserOf returns the user of a job; "": unknown.
type UserOf func(scheduler.JobID) string
