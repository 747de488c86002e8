package logarchive

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// Own says which user a job belongs to. The bytes of the job's files count against that user's bound.
// The user "" has no bound.
func (s *Store) Own(k Key, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own(k, user)
}

// own is Own. The caller holds mu.
func (s *Store) own(k Key, user string) {
	if before, known := s.owners[k]; known && before == user {
		return
	}
	size := s.files[k.Job][k.Submitted]
	s.counts(k, -size)
	s.owners[k] = user
	s.counts(k, size)
}

// counts adds bytes to what the user of a job has. The caller holds mu.
func (s *Store) counts(k Key, by int64) {
	user := s.owners[k]
	if user == "" || by == 0 {
		return
	}
	if s.users[user] += by; s.users[user] <= 0 {
		delete(s.users, user)
	}
}

// findOwners looks up whose the files are that were there when the store was opened.
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
			s.own(k, user)
		}
		s.mu.Unlock()
	}
}

// BytesOfUser are those of the files of a user's jobs.
func (s *Store) BytesOfUser(user string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users[user]
}

// owner is whose a job is, and what the files of that user take.
func (s *Store) owner(k Key) (user string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user = s.owners[k]
	return user, s.users[user]
}

// UserOf finds whose a job is; "": nobody knows.
type UserOf func(scheduler.JobID) string
