package worker

// knownSources are the newest sources of producers. They lie in pages: a reader may have a hundred
// thousand producers, and a map entry for each would cost more than the reading. The zero value has
// none.
type knownSources struct {
	pages map[producer]*knownPage // by the first producer of the page
	count int

	last   producer   // the page that was found last:
	lastIs *knownPage // nil: none
}

// knownPage has the sources of producers whose numbers follow each other; nil: none.
type knownPage struct {
	all   [knownPageMax]*given
	count int
}

const knownPageMax = 64

// page names the page of a producer, and the producer's place in it.
func (p producer) page() (first producer, at int) {
	at = p.from % knownPageMax
	return producer{p.connection, p.from - at}, at
}

// page returns the page that begins with a producer; nil: there is none.
func (k *knownSources) page(first producer) *knownPage {
	if k.lastIs == nil || k.last != first {
		k.last, k.lastIs = first, k.pages[first]
	}
	return k.lastIs
}

// of returns a producer's source, or nil.
func (k *knownSources) of(p producer) *given {
	first, at := p.page()
	if page := k.page(first); page != nil {
		return page.all[at]
	}
	return nil
}

// add adds the source of a producer that has none.
func (k *knownSources) add(p producer, g *given) {
	first, at := p.page()
	page := k.page(first)
	if page == nil {
		page = &knownPage{}
		if k.pages == nil {
			k.pages = map[producer]*knownPage{}
		}
		k.pages[first] = page
	}
	page.all[at] = g
	page.count++
	k.count++
}

// remove removes a producer's source, if there is one.
func (k *knownSources) remove(p producer) {
	first, at := p.page()
	page := k.page(first)
	if page == nil || page.all[at] == nil {
		return
	}
	page.all[at] = nil
	k.count--
	if page.count--; page.count == 0 {
		delete(k.pages, first)
		k.lastIs = nil
	}
}
