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
n1 = T_max_x > T_min_x ? T_max_x : 2 * T_min_x
set xrange [n0 / 1.15 : n1 * 1.15]
eval(ticks(n0 / 1.15, n1 * 1.15))
# The guides start at the fastest time of the run.
guide(x, p) = T_min_y / 1e6 * (x / n0) ** p
ms(m, name) = cell(m, name) / 1e6

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('time', terminal)
  plot for [i = 1:words(methods)] summary using (cell(word(methods, i), 'queries')):(ms(word(methods, i), 'time_ns_median')) \
         smooth unique with lines linetype i notitle, \
       for [i = 1:words(methods)] summary using (cell(word(methods, i), 'queries')):(ms(word(methods, i), 'time_ns_median')): \
         (ms(word(methods, i), 'time_ns_ci_low')):(ms(word(methods, i), 'time_ns_ci_high')) with yerrorbars linetype i \
         dashtype 1 notitle, \
       for [i = 1:words(methods)] keyentry with linespoints linetype i title word(methods, i), \
       guide(x, 1) with lines @faint dashtype 3 title 'slope n', \
       guide(x, 1.5) with lines @faint dashtype 4 title 'slope n^1.5', \
       guide(x, 2) with lines @faint dashtype 2 title 'slope n^2'
  unset output
}
