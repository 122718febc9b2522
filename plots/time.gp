# Time of one call against sequence length, log-log, with guide slopes.
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

set title 'Time against sequence length ('.input.')' noenhanced
set xlabel 'sequence length n (queries)'
set ylabel 'time of one call (ms): median and 95 % CI'
set logscale xy
set format y '%g'

stats summary using (number('queries')):(number('time_ns_median')) name 'T' nooutput
n0 = T_min_x
n1 = T_max_x
ms(m, name) = cell(m, name) / 1e6

if (n1 > n0) {
  set xrange [n0 / 1.15 : n1 * 1.15]
  eval(ticks(n0 / 1.15, n1 * 1.15))
  # The guides start at the fastest time of the run.
  guide(x, p) = T_min_y / 1e6 * (x / n0) ** p
} else {
  set title 'Time at n = '.sprintf('%d', n0).' ('.input.')' noenhanced
  set xlabel 'time of one call (ms): median and 95 % CI'
  set ylabel ''
  eval(list_methods(methods))
}

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('time', terminal)
  if (n1 > n0) {
    plot for [m in methods] summary using (cell(m, 'queries')):(ms(m, 'time_ns_median')) smooth unique \
           with lines linetype place_of(m) notitle, \
         for [m in methods] summary using (cell(m, 'queries')):(ms(m, 'time_ns_median')):(ms(m, 'time_ns_ci_low')): \
           (ms(m, 'time_ns_ci_high')) with yerrorbars linetype place_of(m) dashtype 1 notitle, \
         for [m in methods] keyentry with linespoints linetype place_of(m) title m, \
         guide(x, 1) with lines @faint dashtype 3 title 'slope n', \
         guide(x, 1.5) with lines @faint dashtype 4 title 'slope n^1.5', \
         guide(x, 2) with lines @faint dashtype 2 title 'slope n^2'
  } else {
    plot for [m in methods] summary using (ms(m, 'time_ns_median')):(place_of(m)):(ms(m, 'time_ns_ci_low')): \
           (ms(m, 'time_ns_ci_high')) with xerrorbars linetype place_of(m) dashtype 1 pointsize 1
  }
  unset output
}
