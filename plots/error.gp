# Relative Frobenius error against exact attention, over sequence length; above 1 is possible and correct for flat
# (Gaussian) attention, see docs/guide.md.
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

set title 'Error against exact attention ('.input.')' noenhanced
set xlabel 'sequence length n (queries)'
set ylabel 'relative Frobenius error of the output'
set logscale xy
set format y '%g'

if (words(approximate) == 0) { print 'no approximation errors in '.summary.': nothing to draw'; exit }
stats summary using (strcol('contract') ne 'exact' && number('rel_fro') > 0 ? number('queries') : NaN) name 'E' nooutput
n0 = E_min
n1 = E_max
if (n1 > n0) {
  set xrange [n0 / 1.15 : n1 * 1.15]
  eval(ticks(n0 / 1.15, n1 * 1.15))
} else {
  set title 'Error against exact attention at n = '.sprintf('%d', n0).' ('.input.')' noenhanced
  set xlabel 'relative Frobenius error of the output'
  set ylabel ''
  eval(list_methods(approximate))
}
length_of(m) = error_of(m) > 0 ? cell(m, 'queries') : NaN

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('error', terminal)
  if (n1 > n0) {
    plot for [m in approximate] summary using (length_of(m)):(error_of(m)) smooth unique with linespoints \
           linetype place_of(m) title m
  } else {
    plot for [m in approximate] summary using (error_of(m)):(row_in(approximate, m)) with points \
           linetype place_of(m) pointsize 1
  }
  unset output
}
