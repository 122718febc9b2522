# Shared by all scripts. Each script is run as
#   gnuplot -e "run='runs/x'; input='gaussian'; caption='...'" plots/time.gp
# and reads run/summary.csv by column name. Variables (all but `run` may be left out):
#   run      folder with summary.csv (and stage_shares.csv, written by `attnscale plot`)
#   input    which input to draw; default: the first one in the file
#   out      folder for the pictures; default: run/plots
#   caption  machine and commit, shown small below the plot
#   scripts  folder of these scripts; default: plots
if (!exists("run")) { print "set run: gnuplot -e \"run='runs/x'\" plots/time.gp"; exit status 2 }
if (!exists("out")) out = run."/plots"
if (!exists("caption")) caption = ""

set datafile separator ','
set datafile missing NaN  # rows of other methods are skipped and do not break a line
set datafile columnheaders
summary = run.'/summary.csv'

# The methods and inputs in the file, in order of appearance: words separated by spaces. Methods go by their column
# `label`, because gnuplot cuts a quoted field at its first comma.
methods = ''
inputs = ''
has(words, w) = strstrt(' '.words.' ', ' '.w.' ') > 0
with_word(words, w) = has(words, w) ? words : words.(words eq '' ? '' : ' ').w
note_method(m) = (methods = with_word(methods, m), 0)
note_input(i) = (inputs = with_word(inputs, i), 0)
stats summary using (note_input(strcol('input'))) nooutput
if (!exists("input")) input = word(inputs, 1)
stats summary using (strcol('input') eq input ? note_method(strcol('label')) : 0) nooutput
if (words(methods) == 0) { print "no rows with input ".input." in ".summary; exit status 3 }

# Okabe-Ito colours, told apart by all common kinds of colour blindness; a second and third round of methods
# differs by dash and point shape too.
array palette[8] = ['#000000', '#0072B2', '#E69F00', '#009E73', '#D55E00', '#CC79A7', '#56B4E9', '#A6761D']
array shapes[12] = [7, 5, 9, 11, 13, 6, 4, 8, 10, 12, 2, 1]
do for [i = 1:48] {
  dash = (i - 1) / 8 + 1
  set linetype i linecolor rgb palette[(i - 1) % 8 + 1] dashtype dash linewidth 1.6 \
      pointtype shapes[(i - 1) % 12 + 1] pointsize 0.7
}
color_of(name) = palette[(name - 1) % 8 + 1]

# A column of the rows at the input drawn, or of one method there; anything else is not a number and is skipped.
number(name) = strcol('input') eq input && strcol(name) ne '' ? column(name) : NaN
cell(m, name) = strcol('label') eq m ? number(name) : NaN
positive(x) = x > 0 ? x : NaN
faint = "linecolor rgb '#888888' linewidth 1"

# Powers of two on the x axis, as sequence lengths go. Call after the range of n is known.
ticks(low, high) = (t = '', k = floor(log(low) / log(2)), sum [j = 0:31] (2.0**(k + j) >= low && 2.0**(k + j) <= high ? \
    (t = t.(t eq '' ? '' : ', ').sprintf('%d', 2**(k + j)), 1) : 0), 'set xtics ('.t.') rotate by -35')

row_in(names, m) = sum [j = 1:words(names)] (word(names, j) eq m ? j : 0)
# Line types follow the place in `methods`, so that a method looks the same in every plot.
place_of(m) = row_in(methods, m)

# Methods with an approximation error to show; exact ones differ by rounding only and would stretch an axis by six decades.
approximate = ''
error_of(m) = strcol('contract') ne 'exact' ? positive(cell(m, 'rel_fro')) : NaN
note_approximate(m) = (approximate = with_word(approximate, m), 0)
stats summary using (strcol('contract') ne 'exact' && number('rel_fro') > 0 ? note_approximate(strcol('label')) : 0) nooutput

# An input with one length (a real tensor) has no curve: one line per method, its value on a logarithmic x axis.
# `names` is a string of labels; call with the axis title as second argument.
list_methods(names) = (t = '', sum [j = 1:words(names)] (t = t.(j > 1 ? ', ' : '').'"'.word(names, j).'" '.j, 1), \
    'set ytics ('.t.') noenhanced scale 0; set yrange ['.sprintf('%g', words(names) + 0.6).':0.4]; '. \
    'unset logscale y; set format y; set autoscale x; set format x "%g"; unset xtics; set xtics; unset key')

set key outside right top vertical Left reverse noenhanced font ',9' spacing 1.15 samplen 2.5
set grid back linetype 1 dashtype 1 linecolor rgb '#d8d8d8' linewidth 0.5
set border 3
set tics nomirror out
set label 1 caption at screen 0.01, screen 0.018 font ',7' textcolor rgb '#666666' noenhanced
set bmargin 5

# Draws whatever `draw` (a string of commands) says, once as SVG and once as PNG.
width = 1150
height = 640
if (GPVAL_VERSION < 5.4) { print 'these scripts need gnuplot 5.4 or newer'; exit status 2 }
file_of(kind, ext) = out.'/'.kind.'-'.stem(input).'.'.ext
stem(text) = (s = text, at = strstrt(s, ':'), at > 0 ? s[1:at-1].'-'.s[at+1:*] : s)
svg = "set terminal svg size width, height font 'DejaVu Sans,11' background rgb 'white'"
png = "set terminal pngcairo size width, height font 'DejaVu Sans,10' background rgb 'white'"
