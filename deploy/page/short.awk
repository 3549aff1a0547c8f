# short.awk: a script or a style sheet without indents, empty lines, and comments that have their
# lines for themselves, for those who load it; and without comments behind code in which nothing is
# quoted. No text in quotes goes over a line's end there.
{ sub(/^[ \t]+/, "") }
!inside && /^\/\*/ && (!/\*\// || /\*\/$/) { inside = 1 }
inside { if (/\*\/$/) inside = 0; next }
/^\/\// || /^$/ { next }
{ sub(/ +\/\/ [^'"`]*$/, "") }
{ print }
