# Error against time, one point per method and length: down and to the left is better. The larger the point, the longer
# the sequence.
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

set xlabel 'time of one call (ms, median)'
set ylabel 'relative Frobenius error of the output'
set logscale xy
set format xy '%g'

stats summary using (number('queries')) name 'N' nooutput
n0 = N_min > 0 ? N_min : 1
n1 = N_max > n0 ? N_max : 2 * n0
size_of(n) = N_max > n0 ? 0.5 + 1.3 * log(n / n0) / log(n1 / n0) : 1
set title 'Error against time ('.input.(N_max > n0 ? '); larger points are longer sequences' : ', n = '.sprintf('%d', n0).')') noenhanced
if (words(approximate) == 0) { print 'no approximation errors in '.summary.': nothing to draw'; exit }

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('pareto', terminal)
  plot for [m in approximate] summary using (cell(m, 'time_ns_median') / 1e6):(error_of(m)):(size_of(cell(m, 'queries'))) \
         with points linetype place_of(m) pointsize variable notitle, \
       for [m in approximate] keyentry with points linetype place_of(m) pointsize 1 title m
  unset output
}
