# Speed of exact attention against sequence length, under the multiply-add peak of the machine: a panel for each dimension
# of a head (columns) and number of threads (rows) that has more than one length. Ours and other people's alike.
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

exact_number(name) = strcol('contract') eq 'exact' && strcol('status') eq 'ok' && strcol('mask') eq 'none' && \
    strcol('heads') eq heads ? number(name) : NaN
in_panel(d, t, name) = strcol('dim') eq d && strcol('threads') eq t ? exact_number(name) : NaN
speed(m, d, t, name) = strcol('label') eq m ? in_panel(d, t, name) : NaN
# A time's interval is the speed's, turned over.
bound(m, d, t, name) = speed(m, d, t, 'flops') / speed(m, d, t, name)

# The first number of heads is drawn, and of dimensions those that have several lengths.
heads = ''
note_heads(h) = (heads = heads eq '' ? h : heads, 0)
stats summary using (strcol('contract') eq 'exact' && number('gflops') > 0 ? note_heads(strcol('heads')) : 0) nooutput
all_dims = ''
note_dim(d) = (all_dims = with_word(all_dims, d), 0)
stats summary using (exact_number('gflops') > 0 ? note_dim(strcol('dim')) : 0) nooutput
dims = ''
do for [d in all_dims] {
  stats summary using (strcol('dim') eq d ? exact_number('queries') : NaN) name 'D' nooutput
  if (D_max > D_min) { dims = with_word(dims, d) }
}
if (words(dims) == 0) { print 'no exact method at several lengths in '.summary.': nothing to draw'; exit }
threads = ''
drawn = ''
note_curve(t, m) = (threads = with_word(threads, t), drawn = with_word(drawn, m), 0)
stats summary using (exact_number('gflops') > 0 && has(dims, strcol('dim')) ? \
    note_curve(strcol('threads'), strcol('label')) : 0) nooutput

stats summary using (exact_number('queries')) name 'N' nooutput
columns = words(dims) > 4 ? 4 : words(dims)  # more would not fit a page
rows = words(threads) > 2 ? 2 : words(threads)
width = 380 + 300 * columns
height = 178 + 330 * rows
right = 1.0 - 230.0 / width
left = 70.0 / width
bottom = 92.0 / height
top = 1.0 - 76.0 / height
gap_x = 26.0 / width
gap_y = 74.0 / height
panel_w = (right - left - gap_x * (columns - 1)) / columns
panel_h = (top - bottom - gap_y * (rows - 1)) / rows

set logscale x
set xrange [N_min / 1.2 : N_max * 1.2]
eval(ticks(N_min / 1.2, N_max * 1.2))

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('roofline', terminal)
  set multiplot
  unset title
  set label 2 'Speed of exact attention and the multiply-add peak ('.input.')' at screen 0.5, screen 1.0 - 18.0 / height center \
      font ',13' noenhanced
  do for [r = 1:rows] {
    do for [c = 1:columns] {
      d = word(dims, c)
      t = word(threads, r)
      set autoscale y  # or stats would leave out what lies above the last panel
      stats summary using (in_panel(d, t, 'gflops') / in_panel(d, t, 'peak_share')) name 'P' nooutput
      peak = exists("P_median") ? P_median : NaN
      set lmargin at screen left + (c - 1) * (panel_w + gap_x)
      set rmargin at screen left + (c - 1) * (panel_w + gap_x) + panel_w
      set tmargin at screen top - (r - 1) * (panel_h + gap_y)
      set bmargin at screen top - (r - 1) * (panel_h + gap_y) - panel_h
      set yrange [0 : peak * 1.08]
      set title ('d = '.d.', '.t.(t eq '1' ? ' thread' : ' threads')) font ',11'
      set ylabel (c == 1 ? 'GFLOP/s (median, 95 % CI)' : '')
      set format y (c == 1 ? '%g' : '')
      set xlabel (r == rows ? 'sequence length n' : '')
      if (r == 1 && c == columns) { set key at screen 1.0 - 10.0 / width, screen top right top vertical Left reverse } else { unset key }
      plot peak with lines linecolor rgb '#888888' linewidth 2 dashtype 2 title 'multiply-add peak', \
           for [m in drawn] summary using (speed(m, d, t, 'queries')):(speed(m, d, t, 'gflops')) smooth unique \
             with lines linetype place_of(m) notitle, \
           for [m in drawn] summary using (speed(m, d, t, 'queries')):(speed(m, d, t, 'gflops')): \
             (bound(m, d, t, 'time_ns_ci_high')):(bound(m, d, t, 'time_ns_ci_low')) with yerrorbars \
             linetype place_of(m) dashtype 1 notitle, \
           for [m in drawn] keyentry with linespoints linetype place_of(m) title m
      unset label 2
    }
  }
  unset multiplot
  unset output
}
