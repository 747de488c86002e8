package charts

import _ "embed" // for Style

// Style is the style sheet of drawings, in CSS. Its colours are custom properties that begin with
// --draw-, each for light and for dark ground by the page's color-scheme; a page may set others.
//
//go:embed draw.css
var Style string
