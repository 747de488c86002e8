package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

func (w *writer) principal(p scheduler.Principal) *Principal {
	if p == (scheduler.Principal{}) {
		return nil
	}
	return &Principal{Name: w.str(p.Name), Proof: w.str(p.Proof), Role: w.str(p.Role)}
}

func (r *reader) principal(m *Principal) scheduler.Principal {
	return scheduler.Principal{Name: r.str(m.GetName()), Proof: r.str(m.GetProof()), Role: r.str(m.GetRole())}
}

// NewPageAsked encodes a request for a page as a message.
func NewPageAsked(q scheduler.PageAsked) (*PageAsked, error) {
	w := &writer{}
	m := &PageAsked{
		At: int64(q.At), Principal: w.principal(q.Principal), Method: w.str(q.Method), Path: w.str(q.Path),
		Query: w.str(q.Query), Accept: w.str(q.Accept), Body: q.Body,
	}
	m.Strings = w.table()
	return encoded("page asked", m, w.err)
}

// Decode returns the request. Errors of all functions in this file wrap ErrBadMessage.
func (m *PageAsked) Decode() (scheduler.PageAsked, error) {
	r := newReader(m.GetStrings())
	return decoded(r, scheduler.PageAsked{
		At: scheduler.Time(m.GetAt()), Principal: r.principal(m.GetPrincipal()), Method: r.str(m.GetMethod()), Path: r.str(m.GetPath()),
		Query: r.str(m.GetQuery()), Accept: r.str(m.GetAccept()), Body: data(m.GetBody()),
	})
}

// NewPage encodes a page as a message, without its Request.
func NewPage(a scheduler.Answer) (*Page, error) {
	w := &writer{}
	m := &Page{Status: int64(a.Status), ContentType: w.str(a.ContentType), Body: a.Body}
	m.Strings = w.table()
	return encoded("page", m, w.err)
}

// Decode returns the page.
func (m *Page) Decode() (scheduler.Answer, error) {
	r := newReader(m.GetStrings())
	return decoded(r, scheduler.Answer{Status: int(m.GetStatus()), ContentType: r.str(m.GetContentType()), Body: data(m.GetBody())})
}

// NewCredentials encodes credentials as a message. An error names an unknown purpose.
func NewCredentials(c scheduler.Credentials) (*Credentials, error) {
	w := &writer{}
	m := &Credentials{
		Purpose:   Purpose(checked(w, "purpose", c.Purpose, scheduler.PurposeRequest, scheduler.PurposeSubmit)),
		Principal: w.principal(c.Principal), Authorization: w.str(c.Authorization),
		Name: w.str(c.Name), Pool: w.str(c.Pool), Properties: &Properties{},
	}
	m.Properties.add(w, c.Properties)
	if c.Purpose == scheduler.PurposeRequest {
		var err error
		if m.Request, err = NewPageAsked(c.Request); err != nil {
			w.fail("%w", err)
		}
	}
	m.Strings = w.table()
	return encoded("credentials", m, w.err)
}

// Decode returns the credentials.
func (m *Credentials) Decode() (scheduler.Credentials, error) {
	r := newReader(m.GetStrings())
	c := scheduler.Credentials{
		Purpose:   scheduler.Purpose(known(r, "purpose", m.GetPurpose(), Purpose_PURPOSE_REQUEST, Purpose_PURPOSE_SUBMIT)),
		Principal: r.principal(m.GetPrincipal()), Authorization: r.str(m.GetAuthorization()),
		Name: r.str(m.GetName()), Pool: r.str(m.GetPool()),
	}
	properties := readProperties(r, "properties", 1, m.GetProperties())
	if r.err == nil {
		c.Properties = properties.next()
	}
	if m.GetRequest() != nil && r.err == nil {
		c.Request, r.err = m.GetRequest().Decode()
	}
	return decoded(r, c)
}

// NewProof encodes an authenticator's result as a message.
func NewProof(p scheduler.Proof) (*Proof, error) {
	w := &writer{}
	m := &Proof{Principal: w.principal(p.Principal), Query: w.str(p.Query), Changes: p.Changes}
	if p.Denied != nil {
		var err error
		if m.Denied, err = NewPage(*p.Denied); err != nil {
			w.fail("%w", err)
		}
	}
	m.Strings = w.table()
	return encoded("proof", m, w.err)
}

// Decode returns the authenticator's result. An unknown field is an error: it may restrict the
// known ones.
func (m *Proof) Decode() (scheduler.Proof, error) {
	r := newReader(m.GetStrings())
	whole(r, "proof", m, m.GetStrings())
	p := scheduler.Proof{
		Principal: r.principal(m.GetPrincipal()), Query: r.str(m.GetQuery()), Changes: m.GetChanges(),
	}
	if m.GetDenied() != nil && r.err == nil {
		var denied scheduler.Answer
		denied, r.err = m.GetDenied().Decode()
		p.Denied = &denied
	}
	return decoded(r, p)
}
