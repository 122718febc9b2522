# Share of each stage in the time of a call, at the longest sequence of each method. Reads stage_shares.csv, which
# `attnscale plot` joins from stages.csv and summary.csv.
if (!exists("scripts")) scripts = 'plots'
load scripts.'/common.gp'

shares = out.'/stage_shares.csv'
set title 'Where the time of a call goes, at the longest sequence of each method ('.input.')' noenhanced
set xlabel 'share of the time of one call (%)'
set ylabel ''
set xrange [0:100]
set grid noytics

stages = ''
note_stage(s) = (stages = with_word(stages, s), 0)
array longest[words(methods)]
do for [i = 1:words(methods)] { longest[i] = 0 }
note_longest(j, n) = (j > 0 && n > longest[j] ? (longest[j] = n, 1) : 0)
stats shares using (strcol('input') eq input ? note_stage(strcol('stage')) : 0) nooutput
stats shares using (strcol('input') eq input ? note_longest(place_of(strcol('label')), column('queries')) : 0) nooutput
if (words(stages) == 0) { print 'no stage times for input '.input.' in '.shares.': nothing to draw'; exit }

set yrange [words(methods) + 0.6 : 0.4]
set ytics () scale 0 noenhanced
do for [i = 1:words(methods)] {
  if (longest[i] > 0) { set ytics add (sprintf('%s  n=%d', word(methods, i), longest[i]) i) }
}
# The palette, with attend (nearly always the largest) in grey and a few more for the many stages of LSH.
array shades[12] = ['#0072B2', '#E69F00', '#009E73', '#D55E00', '#CC79A7', '#56B4E9', '#F0E442', '#000000', '#7F3C8D', \
    '#A6761D', '#80CDC1', '#4D4D4D']
shade(k) = word(stages, k) eq 'attend' ? '#B0B0B0' : shades[(k - 1) % 12 + 1]
set style fill solid 0.9 border rgb '#ffffff'
row_of(s) = (j = place_of(strcol('label')), j > 0 && strcol('stage') eq s && strcol('input') eq input && \
    column('queries') == longest[j] ? j : NaN)

do for [terminal in 'svg png'] {
  eval(terminal eq 'svg' ? svg : png)
  set output file_of('stages', terminal)
  plot for [k = 1:words(stages)] shares using (50 * (column('share_begin') + column('share_end'))):(row_of(word(stages, k))): \
         (100 * column('share_begin')):(100 * column('share_end')):(row_of(word(stages, k)) - 0.38): \
         (row_of(word(stages, k)) + 0.38) with boxxyerror linecolor rgb shade(k) dashtype 1 \
         title word(stages, k)
  unset output
}
