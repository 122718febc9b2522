# Counted workspace of one call against sequence length, log-log. (Resident memory: column resident_bytes.)
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

set title 'Workspace against sequence length ('.input.')' noenhanced
set xlabel 'sequence length n (queries)'
set ylabel 'workspace of one call, counted (MiB)'
set logscale xy
set format y '%g'

mib(m) = positive(cell(m, 'workspace_bytes_counted')) / 2**20
stats summary using (number('queries')):(positive(number('workspace_bytes_counted'))) name 'W' nooutput
if (!exists("W_min_x")) { print 'no counted workspace in '.summary.': nothing to draw'; exit }
n0 = W_min_x
n1 = W_max_x
if (n1 > n0) {
  set xrange [n0 / 1.15 : n1 * 1.15]
  eval(ticks(n0 / 1.15, n1 * 1.15))
  guide(x, p) = W_min_y / 2**20 * (x / n0) ** p
} else {
  set title 'Workspace at n = '.sprintf('%d', n0).' ('.input.')' noenhanced
  set xlabel 'workspace of one call, counted (MiB)'
  set ylabel ''
  eval(list_methods(methods))
}

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('memory', terminal)
  if (n1 > n0) {
    plot for [m in methods] summary using (cell(m, 'queries')):(mib(m)) smooth unique with linespoints \
           linetype place_of(m) title m, \
         guide(x, 1) with lines @faint dashtype 3 title 'slope n', \
         guide(x, 2) with lines @faint dashtype 2 title 'slope n^2'
  } else {
    plot for [m in methods] summary using (mib(m)):(place_of(m)) with points linetype place_of(m) pointsize 1
  }
  unset output
}
